import Foundation

/// The next step of a sender for one phone, or for one activity of which no request named the phone.
package struct PlanEntry: Sendable, Hashable {
    package let installation: InstallationHash?
    package let step: PlanStep

    package init(installation: InstallationHash?, step: PlanStep) {
        self.installation = installation
        self.step = step
    }
}

package enum PlanStep: Sendable, Hashable {
    /// The activity runs: push to its token.
    case update(ResolvedActivity)
    /// Nothing runs, and this caller alone may start it: push to the start token.
    case start(PushToken, StartLease)
    /// It is being started, or a start has failed just now: ask again.
    case wait(PlanReason, retryAt: Date)
    /// It cannot be shown as an activity: send an ordinary notification, where there is a device token.
    case alert(PlanReason, PushToken?)
    case none(PlanReason)
}

/// The right to start one activity on one phone, for a time.
package struct StartLease: Sendable, Hashable {
    package let id: LeaseID
    /// No other sender gets it before. The start push must expire no later.
    package let leasedUntil: Date
    /// The `apns-collapse-id` of the start push: the same for all attempts, so that a phone that was offline shows one.
    package let collapseID: String
    /// How many starts were tried within a day, this one included.
    package let attempt: Int

    package init(id: LeaseID, leasedUntil: Date, collapseID: String, attempt: Int) {
        self.id = id
        self.leasedUntil = leasedUntil
        self.collapseID = collapseID
        self.attempt = attempt
    }
}

package enum PlanReason: String, Sendable, Hashable, CaseIterable {
    /// The activity runs, and its first token has not come within the minute since it was heard of.
    case tokenPending = "token-pending"
    /// The activity runs without a token, and the alias has a broadcast channel that reaches it.
    case channel
    /// The activity runs, and there is no token of it that may be handed out.
    case noUpdateToken = "no-update-token"
    /// The user swiped it away.
    case dismissed
    /// Another sender starts it now.
    case leased
    /// The last start failed, and it is too early for the next.
    case backOff = "back-off"
    /// Three starts were tried within a day.
    case startFailed = "start-failed"
    /// There is no start token of the type that may be handed out.
    case noStartToken = "no-start-token"
    /// No client confirmed the start token lately: APNs takes pushes to old ones, and nothing is shown.
    case startUnconfirmed = "start-unconfirmed"
}

extension PlanEntry {
    /// Contains a token only if the step is to push to it.
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
