import Foundation

/// A client's view of one of its activities, without tokens.
package struct ActivityStatus: Sendable, Hashable {
    /// Chosen by the app, or by the server for a name-only activity.
    package let activityID: ActivityID
    package var state: ActivityState
    /// Why it is not current: `ended`, `dismissed`, `expired`, `rotated`, `taken-over`, `unregistered`, `quarantined`,
    /// `kind-conflict`.
    package var reason: String?
    /// The device's clock at the current observation.
    package var observedAt: Date?
    /// The effective time of the end or log-out.
    package var endedAt: Date?
    /// The server's clock at the last registration or refresh.
    package var confirmedAt: Date?
    package var expiresAt: Date?
    /// Incremented by each change that senders can see.
    package var revision: Int

    package init(activityID: ActivityID, state: ActivityState, revision: Int) {
        self.activityID = activityID
        self.state = state
        self.revision = revision
    }
}

package enum ActivityState: String, Sendable, Hashable, CaseIterable {
    /// It runs. Its token, if any, may be deliverable.
    case active
    /// Its installation's full state did not list it. A later observation makes it active again.
    case dismissed
    case ended
    case expired
}

package enum EndReason: String, Sendable, Hashable, CaseIterable {
    case ended, dismissed
}

package enum RegistrationOutcome: String, Sendable, Hashable, CaseIterable {
    case registered, rotated, refreshed, reactivated
}
