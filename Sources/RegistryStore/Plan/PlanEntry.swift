import Crypto
import Foundation
import RegistryCore
import RegistryRules

/// A sender's next step for one phone, or for one activity without an installation.
package struct PlanEntry: Sendable, Hashable {
    package let installation: InstallationHash?
    package let decision: PlanDecision
    /// The broadcast channel that a new activity may follow; nil if the alias has none or the phone supports none.
    package var channelID: UTF8Text?
    /// The metadata of the activity, if the caller requested it.
    package var metadata: Metadata?
    /// The metadata of the installation, if the caller requested it.
    package var installationMetadata: Metadata?
}

extension PlanEntry {
    /// Contains a token only if the step is a push to it.
    package func encode(to json: inout JSONWriter, in app: BundleID) {
        json.object { json in
            writeStep(to: &json, in: app)
            json.raw("metadata", ifPresent: metadata?.canonicalJSON)
            json.raw("installationMetadata", ifPresent: installationMetadata?.canonicalJSON)
        }
    }

    private func writeStep(to json: inout JSONWriter, in app: BundleID) {
        json.member("action", decision.action)
        switch decision {
        case .update(let activity, let time):
            activity.writeMembers(to: &json)
            return json.member("retryAt", ifPresent: time?.date)
        case .end(let activity): return activity.writeMembers(to: &json)
        default: json.hex("installation", ifPresent: installation?.bytes)
        }
        switch decision {
        case .update, .end: return
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
