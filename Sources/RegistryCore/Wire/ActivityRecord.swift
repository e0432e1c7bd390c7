import Foundation

/// One activity as a sender sees it, running or not: the token is there only while it may be handed out.
package struct ActivityRecord: Sendable, Hashable {
    package let status: ActivityStatus
    /// The current token; nil unless it may be handed out.
    package let token: PushToken?
    /// The installation on which it runs; nil when no request named one.
    package let installation: InstallationHash?
    package let facts: ActivityFacts
    /// When it started: the earliest time that requests gave, or the first receipt.
    package let startedAt: Date
    /// When it starts, or started, if it was scheduled for later.
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
