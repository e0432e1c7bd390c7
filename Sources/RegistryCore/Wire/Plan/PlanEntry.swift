import Foundation

/// A sender's next step for one phone, or for one activity without an installation.
package struct PlanEntry: Sendable, Hashable {
    package let installation: InstallationHash?
    package let step: PlanStep

    package init(installation: InstallationHash?, step: PlanStep) {
        self.installation = installation
        self.step = step
    }
}

package enum PlanStep: Sendable, Hashable {
    /// The activity runs. Push to its token.
    case update(ResolvedActivity)
    /// No activity runs, and only this caller may start it. Push to the start token.
    case start(PushToken, StartLease)
    /// It is being started, or a start failed recently. Ask again.
    case wait(PlanReason, retryAt: Date)
    /// It cannot be an activity. Send an ordinary notification if there is a device token.
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

    package init(id: LeaseID, leasedUntil: Date, collapseID: String, attempt: Int) {
        self.id = id
        self.leasedUntil = leasedUntil
        self.collapseID = collapseID
        self.attempt = attempt
    }
}

package enum PlanReason: String, Sendable, Hashable, CaseIterable {
    /// The activity runs. Its first token can still arrive, within a minute of its first request.
    case tokenPending = "token-pending"
    /// The activity runs without a token. The alias has a broadcast channel that reaches it.
    case channel
    /// The activity runs without a deliverable token.
    case noUpdateToken = "no-update-token"
    case dismissed
    case leased
    /// The last start failed, and the back-off is not over.
    case backOff = "back-off"
    /// Three starts were tried within a day.
    case startFailed = "start-failed"
    /// No start token of the type is deliverable.
    case noStartToken = "no-start-token"
    /// No client confirmed the start token recently. APNs accepts pushes to old start tokens, and the phone shows
    /// nothing.
    case startUnconfirmed = "start-unconfirmed"
}

extension PlanEntry {
    /// Contains a token only if the step is a push to it.
    package func encode(to json: inout JSONWriter, in app: BundleID) {
        json.object { json in
            json.member("action", step.action)
            if case .update(let activity) = step { return activity.writeMembers(to: &json) }
            if let installation { json.hex("installation", installation.bytes) }
            switch step {
            case .update: return
            case .start(let token, let lease):
                json.hex("token", token.bytes)
                json.member("leaseId", lease.id.description)
                json.member("leasedUntil", lease.leasedUntil)
                json.member("collapseId", lease.collapseID)
                json.member("attempt", lease.attempt)
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
}

extension PlanStep {
    package var action: String {
        switch self {
        case .update: "update"
        case .start: "start"
        case .wait: "wait"
        case .alert: "alert"
        case .none: "none"
        }
    }
}
