import Foundation

package struct ResolvedActivity: Sendable, Hashable {
    /// Pages are ordered by this immutable internal key; no answer contains it.
    package let key: Int64
    package let activityID: ActivityID
    package let token: PushToken
    /// The installation on which it runs; nil when no request named one.
    package let installation: InstallationHash?
    package let facts: ActivityFacts
    /// When it started: the earliest time that requests gave, or the first receipt.
    package let startedAt: Date
    /// When it starts, or started, if it was scheduled for later.
    package let startsAt: Date?
    /// The device's clock when the system gave it the token; the time of receipt when the request did not say.
    package let observedAt: Date
    /// The server's clock at the last registration or refresh of the token.
    package let confirmedAt: Date
    /// When its lifetime is over; from then on it is not handed out.
    package let expiresAt: Date
    /// Counts the changes visible to senders, from 1.
    package let revision: Int

    package init(
        key: Int64,
        activityID: ActivityID,
        token: PushToken,
        installation: InstallationHash? = nil,
        facts: ActivityFacts = ActivityFacts(),
        startedAt: Date,
        startsAt: Date? = nil,
        observedAt: Date,
        confirmedAt: Date,
        expiresAt: Date,
        revision: Int
    ) {
        self.key = key
        self.activityID = activityID
        self.token = token
        self.installation = installation
        self.facts = facts
        self.startedAt = startedAt
        self.startsAt = startsAt
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.expiresAt = expiresAt
        self.revision = revision
    }
}
