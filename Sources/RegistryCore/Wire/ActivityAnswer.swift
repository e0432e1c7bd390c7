import Foundation

/// The answer to a client about one of its activities; never a token.
public struct ActivityAnswer: Sendable, Hashable {
    /// The id that the app or, for an activity known by its alias alone, the server gave it.
    public let activityID: ActivityID
    /// The state at the moment of the answer.
    public var state: ActivityState
    /// Why it is not, or no longer, current: `ended`, `dismissed`, `expired`, `rotated`, `taken-over`,
    /// `unregistered`, `quarantined`, `kind-conflict`.
    public var reason: String?
    /// The device's clock at the observation that is current.
    public var observedAt: Date?
    /// As of when it ended, by an end or by a log-out; nil unless it did.
    public var endedAt: Date?
    /// The server's clock at the last registration or refresh.
    public var confirmedAt: Date?
    /// When its lifetime is over, counted from its start.
    public var expiresAt: Date?
    /// Counts the changes of what a sender would see.
    public var revision: Int

    /// Makes an answer in which all that may be nil is nil.
    public init(activityID: ActivityID, state: ActivityState, revision: Int) {
        self.activityID = activityID
        self.state = state
        self.revision = revision
    }
}

/// The answer to a registration that took effect.
public struct RegistrationAnswer: Sendable, Hashable {
    /// The effect of the request on the activity.
    public let outcome: RegistrationOutcome
    /// The activity after the request.
    public let activity: ActivityAnswer

    /// Makes an answer of its two parts.
    public init(outcome: RegistrationOutcome, activity: ActivityAnswer) {
        self.outcome = outcome
        self.activity = activity
    }
}
