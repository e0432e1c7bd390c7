import Foundation

/// What a client is told about one of its activities; never a token.
public struct ActivityAnswer: Sendable, Hashable {
    public let activityID: ActivityID
    public var state: ActivityState
    /// Why it is not, or no longer, current: `ended`, `dismissed`, `expired`, `rotated`, `taken-over`,
    /// `unregistered`, `quarantined`, `kind-conflict`.
    public var reason: String?
    /// The device's clock at the observation that is current.
    public var observedAt: Date?
    public var endedAt: Date?
    /// The server's clock at the last registration or refresh.
    public var confirmedAt: Date?
    public var expiresAt: Date?
    /// Counts the changes of what a sender would see.
    public var revision: Int

    public init(activityID: ActivityID, state: ActivityState, revision: Int) {
        self.activityID = activityID
        self.state = state
        self.revision = revision
    }
}

/// The answer to a registration that took effect.
public struct RegistrationAnswer: Sendable, Hashable {
    public let outcome: RegistrationOutcome
    public let activity: ActivityAnswer

    public init(outcome: RegistrationOutcome, activity: ActivityAnswer) {
        self.outcome = outcome
        self.activity = activity
    }
}
