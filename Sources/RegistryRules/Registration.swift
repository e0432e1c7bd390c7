import RegistryCore

package struct Registration: Sendable {
    package let id: ActivityID
    package let body: ActivityRegistration
    package let digest: TokenDigest?
    package let claimant: Claimant
    /// Key id or subject.
    package let actor: UTF8Text
    package let observedAt: Timestamp?
    package let startedAt: Timestamp?
    package let startsAt: Timestamp?

    package init(
        _ body: ActivityRegistration,
        of id: ActivityID,
        digest: TokenDigest?,
        claimant: Claimant,
        actor: UTF8Text
    ) {
        var body = body
        if claimant != .any { (body.subject, body.installation) = (claimant.subject, claimant.installation) }
        self.id = id
        self.body = body
        self.digest = digest
        self.claimant = claimant
        self.actor = actor
        observedAt = body.observedAt.map(Timestamp.init)
        startedAt = body.startedAt.map(Timestamp.init)
        startsAt = body.startsAt.map(Timestamp.init)
    }

    struct Times {
        /// Orders the token (R2).
        var observedAt: Timestamp
        /// Compared with the time of feedback (R8).
        var claimedAt: Timestamp
        /// Orders aliases and metadata (R6).
        var statedAt: Timestamp
        var startedAt: Timestamp
        /// Only if later than the observation (R5).
        let startsAt: Timestamp?
        let receivedAt: Timestamp
    }

    /// A new token without `observedAt` counts as observed at receipt (R3).
    private func times(observedAt: Timestamp, receivedAt now: Timestamp) -> Times {
        Times(
            observedAt: observedAt,
            claimedAt: min(observedAt, now),
            statedAt: observedAt,
            startedAt: min(startedAt ?? self.observedAt ?? now, self.observedAt ?? now),
            startsAt: startsAt.flatMap { $0 > self.observedAt ?? now ? $0 : nil },
            receivedAt: now
        )
    }

    /// The effective times (R3). Without `observedAt`, the current token and a retired token keep their claims, and any
    /// other token counts as observed at receipt.
    func times(for activity: Activity?, value: TokenValue?, receivedAt now: Timestamp) -> Times {
        if let observedAt { return times(observedAt: observedAt, receivedAt: now) }
        guard let digest, let activity, let current = activity.token else {
            return times(observedAt: now, receivedAt: now)
        }
        guard digest == current.digest else {
            let retiredAt = value?.owner.flatMap { $0.activityID == activity.id ? $0.observedAt : nil }
            return times(observedAt: retiredAt ?? now, receivedAt: now)
        }
        var times = times(observedAt: current.observedAt, receivedAt: now)
        times.statedAt = now
        // A client's confirmation ends a quarantine, but does not revive a dead token: it may predate APNs's response.
        times.claimedAt =
            value?.withholdingReason(for: current, of: activity.id) == .quarantined ? now : current.claimedAt
        return times
    }

    /// A start is no later than its receipt (R5), unless the phone's clock is ahead and its log-out is not before the
    /// receipt: the activity started after the log-out and must stay after it.
    func times(for activity: Activity?, value: TokenValue?, _ logOut: Timestamp?, receivedAt now: Timestamp) -> Times {
        var times = times(for: activity, value: value, receivedAt: now)
        if let logOut, now <= logOut, logOut < times.startedAt { return times }
        times.startedAt = min(times.startedAt, now)
        return times
    }

    func checkTimes(receivedAt now: Timestamp) throws(Rejection) {
        try Plausibility.check(
            [("/observedAt", observedAt), ("/startedAt", startedAt)],
            startsAt: startsAt,
            receivedAt: now
        )
    }

    /// Throws if the registration has expired by its own times (R5).
    ///
    /// An observation older than the retention of tombstones cannot schedule a start, because the activity's tombstone may
    /// be gone (R4). An import can, because its registry accepted it.
    func checkLifetime(of known: Activity?, _ settings: AppSettings, _ times: Times) throws(Rejection) {
        let isLate = observedAt.map { $0 + settings.tombstoneRetention <= times.receivedAt } ?? false
        let end = (times.startsAt ?? times.startedAt) + (known?.lifetime ?? settings.activityLifetime)
        guard !(isLate && !body.wasAccepted), end > times.receivedAt else { throw known?.end == nil ? .stale : .ended }
    }

    func claim(_ times: Times) -> TokenClaim? {
        digest.map {
            TokenClaim(digest: $0, token: body.token, observedAt: times.observedAt, claimedAt: times.claimedAt)
        }
    }
}

/// The permitted times of requests (R5). A request with an implausible time changes nothing.
package enum Plausibility {
    /// 2022-09-01T00:00:00Z, the month of iOS 16.1's first Live Activities.
    package static let earliest = Timestamp(microseconds: 715_305_600_000_000)
    package static let tolerance = Duration.seconds(300)
    package static let longestSchedule = Duration.seconds(30 * 86_400)

    package static func check(
        _ times: [(pointer: String, time: Timestamp?)],
        startsAt: Timestamp? = nil,
        receivedAt now: Timestamp
    ) throws(Rejection) {
        var faults = times.compactMap { fault($0.pointer, $0.time, now + tolerance, "5 minutes") }
        faults += [fault("/startsAt", startsAt, now + longestSchedule, "30 days")].compactMap(\.self)
        guard faults.isEmpty else { throw .clockSkew(faults) }
    }

    private static func fault(
        _ pointer: String,
        _ time: Timestamp?,
        _ latest: Timestamp,
        _ tolerance: String
    ) -> JSONFault? {
        guard let time else { return nil }
        if time < earliest {
            return JSONFault(pointer: pointer, detail: "is before 2022-09-01, when no Live Activity existed")
        }
        return time > latest ? JSONFault(pointer: pointer, detail: "is more than \(tolerance) in the future") : nil
    }
}

/// Why a request is rejected, or why its token is not deliverable although the request was merged (R0).
package enum Rejection: Error, Sendable, Hashable {
    /// A time is implausible (R5); nothing was merged.
    case clockSkew([JSONFault])
    /// The record belongs to another user or installation; nothing was merged.
    case notYours
    /// The registration has expired by its own times (R5); nothing was merged.
    case stale
    /// The request names erased data; nothing was merged.
    case erased
    /// The installation has the maximum number of start-token slots; nothing was merged.
    case noRoom
    case ended
    /// The activity's lifetime is over (R5).
    case expired
    case superseded
    /// The token is withheld (R2, R7, R8).
    case withheld(WithholdingReason)
}

/// The effect of a registration on an activity's or slot's token.
package enum RegistrationEffect: Sendable, Hashable {
    case registered
    case rotated
    case refreshed
    /// The activity was dismissed, expired or withheld before; the slot was empty, or its token was withheld.
    case reactivated
    case superseded
    case expired
    case ended
    /// A later deletion or log-out covers the token.
    case removed

    package var outcome: RegistrationOutcome {
        switch self {
        case .registered: .registered
        case .rotated: .rotated
        case .reactivated: .reactivated
        case .refreshed, .superseded, .expired, .ended, .removed: .refreshed
        }
    }

    /// The event of a token that became current again or for the first time.
    var event: NewAuditEvent.Kind? {
        switch outcome {
        case .registered: .registered
        case .rotated: .rotated
        case .reactivated: .reactivated
        case .refreshed: nil
        }
    }
}
