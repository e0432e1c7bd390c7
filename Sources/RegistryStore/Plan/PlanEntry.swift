import Crypto
import Foundation
import RegistryCore
import RegistryRules

/// A sender's next step for one phone, or for one activity without an installation.
package struct PlanEntry: Sendable, Hashable {
    package let installation: InstallationHash?
    /// The key of the running activity; nil if none runs.
    let key: Int64?
    package let decision: PlanDecision
    /// The broadcast channel that a new activity may follow; nil if the alias has none or the phone supports none.
    package let channelID: UTF8Text?

    /// Contains a token only if the step is a push to it.
    package func encode(to json: inout JSONWriter, in app: BundleID, with metadata: FoundMetadata?) {
        json.object { json in
            writeStep(to: &json, in: app)
            metadata?.write(activity: key, installation, to: &json)
        }
    }

    private func writeStep(to json: inout JSONWriter, in app: BundleID) {
        json.member("action", decision.action)
        if let activity = decision.activity {
            activity.writeMembers(to: &json)
        } else {
            json.hex("installation", ifPresent: installation?.bytes)
        }
        switch decision {
        case .update(_, let time): json.member("retryAt", ifPresent: time?.date)
        case .end: break
        case .start(let token, let lease, let replaced):
            json.hex("token", token.bytes)
            json.member("leaseId", lease.id.description)
            json.member("leasedUntil", lease.leasedUntil.date)
            json.member("collapseId", lease.collapseID)
            json.member("attempt", lease.attempt)
            // A renewed activity has a token, and its successor gets one.
            json.member("channelId", ifPresent: replaced == nil ? channelID : nil)
            guard let replaced else { return }
            json.object("replaces") { json in
                json.member("activityId", replaced.activityID.rawValue)
                json.hex("token", replaced.token.bytes)
                json.member("expiresAt", replaced.expiresAt)
            }
        case .wait(let reason, let time):
            json.member("reason", reason.rawValue)
            json.member("retryAt", time.date)
            if reason == .leased { json.member("leasedUntil", time.date) }
        case .alert(let reason, let token):
            json.member("reason", reason.rawValue)
            guard let token else { return }
            json.hex("token", token.bytes)
            json.member("topic", TokenKind.device.topic(of: app))
            json.member("pushType", TokenKind.device.pushType)
        case .none(let reason): json.member("reason", reason.rawValue)
        }
    }
}

extension PlanDecision {
    /// The running activity that gets the push.
    fileprivate var activity: ResolvedActivity? {
        switch self {
        case .update(let activity, _), .end(let activity): activity
        default: nil
        }
    }

    package var action: String {
        switch self {
        case .update: "update"
        case .start(_, _, let replaced): replaced == nil ? "start" : "renew"
        case .end: "end"
        case .wait: "wait"
        case .alert: "alert"
        case .none: "none"
        }
    }
}

extension Lease {
    /// The `apns-collapse-id` of the start push. All attempts share it, so that a phone that was offline shows one
    /// activity.
    fileprivate var collapseID: String {
        let subject = Data("\(alias)\0".utf8) + installation.bytes
        return Hexadecimal.encode(Array(SHA256.hash(data: subject)).prefix(16))
    }
}
