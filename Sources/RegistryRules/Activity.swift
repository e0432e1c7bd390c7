import RegistryCore

/// A Live Activity as its locked row holds it, its tombstone included.
package struct Activity: Sendable, Hashable {
    package let id: ActivityID
    /// The facts: the first value received stays (R6).
    package var installation: InstallationHash?
    package var subject: UTF8Text?
    package var facts = ActivityFacts()
    /// The start of a scheduled activity.
    package var startsAt: Timestamp?
    /// The least start of all accepted registrations (R5).
    package var startedAt: Timestamp
    package var expiresAt: Timestamp
    package var end: End?
    /// The time at which a sweep recorded the expiry.
    package var expiryRecordedAt: Timestamp?
    /// The greatest `observedAt` of all requests, full states included (R9).
    package var lastObservedAt: Timestamp?
    package var aliases: Stamped<AliasSet>?
    package var metadata: Stamped<Metadata>?
    package var token: TokenClaim?
    package var withheld: WithholdingReason?
    package var confirmedAt: Timestamp?
    /// Counts the changes visible to senders.
    package var revision = 1
    /// Nil for a new activity.
    package var handle: RowHandle?

    package struct End: Sendable, Hashable {
        package let at: Timestamp
        package let reason: EndReason

        package init(at: Timestamp, reason: EndReason) {
            self.at = at
            self.reason = reason
        }
    }

    package init(id: ActivityID, startedAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.startedAt = startedAt
        self.expiresAt = expiresAt
    }

    /// The app's lifetime at the first receipt (R5).
    var lifetime: Duration { expiresAt - max(startedAt, startsAt ?? startedAt) }

    /// Whether the activity is recorded as over: its token is deleted and resolve does not read its aliases.
    package var isOver: Bool { end != nil || expiryRecordedAt != nil }

    /// The state that clients and senders see. A full state (R9) and a log-out of the installation need no write to the activity.
    package func state(of installation: InstallationTimes?, at now: Timestamp) -> ActivityState {
        if end != nil { return .ended }
        if expiresAt <= now { return .expired }
        if let loggedOutAt = installation?.loggedOutAt, loggedOutAt >= startedAt { return .ended }
        if let fullStateAt = installation?.fullStateAt, let lastObservedAt, fullStateAt > lastObservedAt {
            return .dismissed
        }
        return .active
    }

    /// Ends the activity for good; the least (time, reason) of all ends stays (R4).
    ///
    /// - Returns: whether it was running.
    package mutating func end(at time: Timestamp, reason: EndReason) -> Bool {
        let isFirst = end == nil
        if let end, (end.at, end.reason.order) <= (time, reason.order) { return false }
        end = End(at: time, reason: reason)
        token?.token = nil
        if isFirst { revision += 1 }
        return isFirst
    }

    /// Moves the lifetime's beginning to an earlier start or a scheduled one (R5).
    mutating func move(startedAt start: Timestamp, startsAt scheduled: Timestamp?) {
        let lifetime = lifetime
        startedAt = min(startedAt, start)
        startsAt.keepFirst(scheduled)
        expiresAt = max(startedAt, startsAt ?? startedAt) + lifetime
    }
}

extension EndReason {
    /// Decides between ends of one time.
    fileprivate var order: Int { self == .ended ? 0 : 1 }
}
