import Foundation

/// A sender's view of an activity in any state.
package struct ActivityRecord: Sendable, Hashable {
    package let status: ActivityStatus
    /// Nil unless it is deliverable.
    package let token: PushToken?
    package let installation: InstallationHash?
    package let facts: ActivityFacts
    package let startedAt: Date
    package let startsAt: Date?

    package init(
        status: ActivityStatus,
        token: PushToken?,
        installation: InstallationHash?,
        facts: ActivityFacts,
        startedAt: Date,
        startsAt: Date?
    ) {
        self.status = status
        self.token = token
        self.installation = installation
        self.facts = facts
        self.startedAt = startedAt
        self.startsAt = startsAt
    }
}
