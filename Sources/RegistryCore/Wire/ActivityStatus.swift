import Foundation

/// The answer to a client about one of its activities; never a token.
package struct ActivityStatus: Sendable, Hashable {
    /// The id that the app or, for an activity known by its alias alone, the server gave it.
    package let activityID: ActivityID
    package var state: ActivityState
    /// Why it is not, or no longer, current: `ended`, `dismissed`, `expired`, `rotated`, `taken-over`,
    /// `unregistered`, `quarantined`, `kind-conflict`.
    package var reason: String?
    /// The device's clock at the observation that is current.
    package var observedAt: Date?
    /// As of when it ended, by an end or by a log-out; nil unless it did.
    package var endedAt: Date?
    /// The server's clock at the last registration or refresh.
    package var confirmedAt: Date?
    /// When its lifetime is over, counted from its start.
    package var expiresAt: Date?
    /// Counts the changes visible to senders.
    package var revision: Int

    package init(activityID: ActivityID, state: ActivityState, revision: Int) {
        self.activityID = activityID
        self.state = state
        self.revision = revision
    }
}

package struct RegistrationResult: Sendable, Hashable {
    package let outcome: RegistrationOutcome
    package let activity: ActivityStatus

    package init(outcome: RegistrationOutcome, activity: ActivityStatus) {
        self.outcome = outcome
        self.activity = activity
    }
}
