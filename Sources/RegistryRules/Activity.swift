import RegistryCore

/// A Live Activity or its tombstone, as stored in its locked row.
package struct Activity: Sendable, Hashable {
    package let id: ActivityID
    /// Facts: the first received value stays (R6).
    package var installation: InstallationHash?
    package var subject: UTF8Text?
    package var facts = ActivityFacts()
    /// Later than `startedAt`.
    package var startsAt: Timestamp?
    /// The earliest start of all accepted registrations (R5).
    package var startedAt: Timestamp
    package var expiresAt: Timestamp
    package var end: End?
    /// When a sweep recorded the expiry.
    package var expiryRecordedAt: Timestamp?
    /// The greatest `observedAt` of all requests, full states included (R9).
    package var lastObservedAt: Timestamp?
    package var aliases: Stamped<AliasSet>?
    package var metadata: Stamped<Metadata>?
    package var token: TokenClaim?
    package var withheld: WithholdingReason?
    package var confirmedAt: Timestamp?
    /// Counts changes that senders can see.
    package var revision = 1
    package var position: RowPosition?
    /// Nil for a new row.
    package var key: Int64?

    package struct End: Sendable, Hashable {
        package let at: Timestamp
        package let reason: EndReason

        package init(at: Timestamp, reason: EndReason) { (self.at, self.reason) = (at, reason) }
    }

    package init(id: ActivityID, startedAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.startedAt = startedAt
        self.expiresAt = expiresAt
    }

    /// The app's lifetime at first receipt (R5).
    var lifetime: Duration { expiresAt - (startsAt ?? startedAt) }

    /// Whether the end or expiry is stored. The token is then deleted, and resolve does not read the aliases.
    package var isOver: Bool { end != nil || expiryRecordedAt != nil }

    /// The state that clients and senders see. A full state (R9) or log-out changes it without a write to the activity.
    package func state(of installation: InstallationTimes?, at now: Timestamp) -> ActivityState {
        if end != nil { return .ended }
        if expiresAt <= now { return .expired }
        if let loggedOutAt = installation?.loggedOutAt, loggedOutAt >= startedAt { return .ended }
        if let fullStateAt = installation?.fullStateAt, let lastObservedAt, fullStateAt > lastObservedAt {
            return .dismissed
        }
        return .active
    }

    /// The smallest (time, reason) of all ends is kept (R4).
    ///
    /// - Returns: whether the end changed.
    package mutating func end(at time: Timestamp, reason: EndReason) -> Bool {
        if let end, (end.at, end.reason.order) <= (time, reason.order) { return false }
        end = End(at: time, reason: reason)
        token?.token = nil
        revision += 1
        return true
    }

    /// Merges a start and a scheduled start, and recomputes the expiry (R5).
    mutating func move(startedAt start: Timestamp, startsAt scheduled: Timestamp?) {
        let lifetime = lifetime
        startedAt = min(startedAt, start)
        startsAt.keepFirst(scheduled)
        expiresAt = (startsAt ?? startedAt) + lifetime
    }
}

extension EndReason {
    fileprivate var order: Int { self == .ended ? 0 : 1 }
}
