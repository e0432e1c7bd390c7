/// A report that waits, with all that its sending needs.
package struct OutboxEntry: Sendable, Hashable, Codable, Identifiable {
    /// Random, so that two processes never give the same.
    package let id: UInt64
    package internal(set) var report: Report
    package internal(set) var observedAt: Timestamp
    /// The registry's clock less the one that `observedAt` is by. It is known too late: the registry may have accepted the time.
    var correction = Duration.zero
    /// The credential under which it was made (C14).
    package internal(set) var owner: Owner
    /// A repetition of one that was answered 410 `activity-expired`: not repeated once more.
    var isObservedAnew = false
    /// When the registry first said 403 or 404, or 401 to the publishable key.
    var refusedSince: Timestamp?
    /// Forgotten at each launch: then all are tried at once.
    var tries = Tries()

    private enum CodingKeys: CodingKey { case id, report, observedAt, correction, owner, isObservedAnew, refusedSince }

    package init(id: UInt64, report: Report, observedAt: Timestamp, owner: Owner) {
        (self.id, self.report, self.observedAt, self.owner) = (id, report, observedAt, owner)
    }

    var name: ReportName { report.name }

    /// How often it was tried by a request that may have left the phone, and when it is tried again.
    struct Tries: Sendable, Hashable {
        var count = 0
        /// How often the registry refused it, by the status: silence says nothing of a credential, nor of a clock.
        var refusals: [Int: Int] = [:]
        /// By the monotonic clock.
        var notBefore = Duration.zero
        /// The registry asked for this pause, so coming to the foreground does not shorten it.
        var isAsked = false
        /// Nobody answered, so the first sign of the registry ends the pause.
        var isUnanswered = false
    }
}

extension OutboxEntry {
    /// It makes an earlier entry needless.
    ///
    /// An end does so to every registration of its activity, for ended is final whatever their times are (R4). A log-out does so to
    /// all that its user observed by then, but ends, which say how an activity ended (C18).
    func absorbs(_ other: OutboxEntry) -> Bool {
        switch (report, other.report) {
        case (.end(let ended, _), .registration(let registration)): ended == registration.activityID
        case (.logOut, _): owner == other.owner && !other.report.isFinal && other.observedAt <= observedAt
        default: false
        }
    }

    /// The ends of its activities, in its place, when a log-out absorbs it.
    ///
    /// The registry ends what it knows of. It must not hear of these for the first time when their tokens change, under the name of
    /// the next user.
    func ends(by other: OutboxEntry) -> [OutboxEntry] {
        guard other.report == .logOut else { return [] }
        let activities: [ActivityRegistration] =
            switch report {
            case .registration(let registration): [registration]
            case .fullState(let activities): activities
            default: []
            }
        return activities.enumerated().map { index, activity in
            let end = Report.end(activityID: activity.activityID, isDismissal: false)
            return OutboxEntry(
                id: Self.id(ofPart: index, from: id ^ other.id),
                report: end,
                observedAt: other.observedAt,
                owner: owner
            )
        }
    }

    /// Registrations of the activities that only the earlier of two full states lists with a token.
    ///
    /// The token keeps its time: at the later one's it would win over a registration that came in between. The later one may
    /// dismiss the activity; should it be seen again without a token, the registry must know it.
    func unlisted(with other: OutboxEntry) -> [OutboxEntry] {
        let (earlier, later) = observedAt < other.observedAt ? (self, other) : (other, self)
        guard case .fullState(let known) = earlier.report, case .fullState(let listed) = later.report else { return [] }
        let ids = Set(listed.filter { $0.token != nil }.map(\.activityID))
        return known.filter { $0.token != nil && !ids.contains($0.activityID) }.enumerated().map { index, activity in
            let id = Self.id(ofPart: index, from: id ^ other.id)
            let report = Report.registration(activity)
            var entry = OutboxEntry(id: id, report: report, observedAt: earlier.observedAt, owner: owner)
            entry.correction = earlier.correction
            return entry
        }
    }

    /// The id of one of several entries that two make: the same each time, and as random as theirs. Were it a sum, two parts that
    /// are merged with others by ``merged(with:)`` could have one id, and the answer to one would settle the other. (SplitMix64)
    private static func id(ofPart index: Int, from id: UInt64) -> UInt64 {
        var bits = id &+ UInt64(index + 1) &* 0x9e37_79b9_7f4a_7c15
        bits = (bits ^ bits >> 30) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ bits >> 27) &* 0x94d0_49bb_1331_11eb
        return bits ^ bits >> 31
    }

    /// It must be answered before another one goes out, as far as it can be: what the other needs is only there afterwards.
    ///
    /// The registry puts all else in order by the times (R0). Rights are the exception: a user may change what is of an installation
    /// only after they took it over, and a log-out only before the next user did.
    func precedes(_ other: OutboxEntry) -> Bool {
        guard mayPrecede, id != other.id, !other.report.isFinal else { return false }
        return report == .logOut ? observedAt <= other.observedAt : owner == other.owner
    }

    /// A log-out or a takeover that was not refused.
    var mayPrecede: Bool {
        switch report {
        case .logOut, .installation: refusedSince == nil && tries.count < Self.mostTriesAhead
        default: false
        }
    }

    /// After so many tries it holds nothing else up.
    private static let mostTriesAhead = 3

    /// One entry in the place of two of one key, with the effect of both.
    func merged(with other: OutboxEntry) -> OutboxEntry {
        let (earlier, later) = observedAt < other.observedAt ? (self, other) : (other, self)
        // Both by one clock, or the time of the earlier one, which the registry may refuse, becomes the start of the activity.
        let shift = earlier.correction - later.correction
        let times = (earlier.observedAt + shift, later.observedAt)
        let report = later.report.merging(earlier: earlier.report.movingStarts(by: shift), observedAt: times)
        // Of two ends the first holds, with its time; of two log-outs the second.
        let isEnd = if case .end = report { true } else { false }
        let timed = isEnd ? earlier : later
        // An id of its own: answers to either of the two do not settle it.
        var merged = OutboxEntry(id: id ^ other.id, report: report, observedAt: timed.observedAt, owner: owner)
        merged.correction = timed.correction
        return merged
    }

    /// The time of its observation by the registry's clock.
    var correctedTime: Timestamp { observedAt + correction }

    /// Gives it another time, and its activities another start, for both are by one clock.
    mutating func correct(to time: Timestamp) {
        report = report.movingStarts(by: time - observedAt)
        (observedAt, correction) = (time, .zero)
    }
}
