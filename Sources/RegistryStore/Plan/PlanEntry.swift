import Foundation
import RegistryCore

/// A sender's next step for one phone, or for one activity without an installation.
package struct PlanEntry: Sendable, Hashable {
    package let installation: InstallationHash?
    package let step: PlanStep
    /// The metadata of the activity, if the caller requested it.
    package var metadata: Metadata?
    /// The metadata of the installation, if the caller requested it.
    package var installationMetadata: Metadata?
}

package enum PlanStep: Sendable, Hashable {
    /// The activity runs: push to its token. The plan of the given time may renew it.
    case update(ResolvedActivity, retryAt: Date? = nil)
    /// No activity runs, or the running activity ends soon. Only this caller may start a new one: push to the start
    /// token.
    case start(PushToken, StartLease, replaces: ResolvedActivity? = nil)
    /// Another activity has replaced it: push its end to its token.
    case end(ResolvedActivity)
    /// Another sender starts the activity, or a start has just failed: ask again.
    case wait(PlanReason, retryAt: Date)
    /// An activity is not possible. Send an ordinary notification if a device token is known.
    case alert(PlanReason, PushToken?)
    case none(PlanReason)
}

/// A temporary right to start one activity on one phone.
package struct StartLease: Sendable, Hashable {
    package let id: LeaseID
    /// Until then, no other sender gets the lease. The start push must expire no later.
    package let leasedUntil: Date
    /// The `apns-collapse-id` of the start push. All attempts share it, so that a phone that was offline shows one
    /// activity.
    package let collapseID: String
    /// The number of starts within a day, including this one.
    package let attempt: Int
    /// The broadcast channel that the new activity may follow; nil if the alias has none or the phone supports none.
    package var channelID: UTF8Text?
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
        json.member("action", step.action)
        switch step {
        case .update(let activity, let time):
            activity.writeMembers(to: &json)
            return json.member("retryAt", ifPresent: time)
        case .end(let activity): return activity.writeMembers(to: &json)
        default: json.hex("installation", ifPresent: installation?.bytes)
        }
        switch step {
        case .update, .end: return
        case .start(let token, let lease, let replaced):
            json.hex("token", token.bytes)
            json.member("leaseId", lease.id.description)
            json.member("leasedUntil", lease.leasedUntil)
            json.member("collapseId", lease.collapseID)
            json.member("attempt", lease.attempt)
            json.member("channelId", ifPresent: lease.channelID)
            guard let replaced else { return }
            json.object("replaces") { json in
                json.member("activityId", replaced.activityID.rawValue)
                json.hex("token", replaced.token.bytes)
                json.member("expiresAt", replaced.expiresAt)
            }
        case .wait(let reason, let time):
            json.member("reason", reason.rawValue)
            json.member("retryAt", time)
            if reason == .leased { json.member("leasedUntil", time) }
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

extension PlanStep {
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
