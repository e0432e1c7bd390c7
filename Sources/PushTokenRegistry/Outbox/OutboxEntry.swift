/// The credential of a report. The report is sent with this credential or not at all (C14).
package enum Owner: Sendable, Hashable, Codable {
    /// The publishable key, while no user is signed in.
    case installation
    /// The JWT of a signed-in user.
    case user(String)
}

/// A report that waits, with all that its sending needs.
package struct OutboxEntry: Sendable, Hashable, Codable, Identifiable {
    package let id: UInt64
    package internal(set) var report: Report
    package internal(set) var observedAt: Timestamp
    /// The registry's clock less the clock of `observedAt`. It became known after the registry may have accepted that time.
    var correction = Duration.zero
    package let owner: Owner
    /// When the registry first responded 403 or 404, or 401 to the publishable key.
    var refusedSince: Timestamp?
    /// Not stored, so that all entries are tried at each launch.
    var tries = Tries()

    private enum CodingKeys: CodingKey { case id, report, observedAt, correction, owner, refusedSince }

    var subject: LiveActivityRegistry.Subject { report.subject }

    /// The requests for an entry in this launch.
    struct Tries: Sendable, Hashable {
        /// Requests that may have left the phone.
        var count = 0
        /// Refusals by status. Silence does not count, because it is unrelated to credentials and clocks.
        var refusals: [Int: Int] = [:]
        /// By the monotonic clock.
        var notBefore = Duration.zero
        /// The registry asked for this pause, so the foreground does not shorten it.
        var isAsked = false
        /// The publishable key may not report it.
        var needsUser = false
    }

    /// Whether it makes another entry unnecessary.
    ///
    /// An end replaces every registration of its activity, because an end is final, independent of times (R4). A
    /// log-out replaces all that its user observed by then, except ends, which contain how an activity ended (C18).
    func absorbs(_ other: OutboxEntry) -> Bool {
        switch (report, other.report) {
        case (.end(let ended, _), .registration(let registration)): ended == registration.activityID
        case (.logOut, _): owner == other.owner && !other.report.isFinal && other.observedAt <= observedAt
        default: false
        }
    }

    /// The end of a registered activity, in place of its registration, if a log-out absorbs it.
    ///
    /// The log-out ends the activities that the registry knows. It must not learn of this activity when its token
    /// changes, under the next user.
    func end(by other: OutboxEntry) -> OutboxEntry? {
        guard other.report == .logOut, case .registration(let activity) = report else { return nil }
        let end = Report.end(activityID: activity.activityID, isDismissal: false)
        return OutboxEntry(id: ~(id ^ other.id), report: end, observedAt: other.observedAt, owner: owner)
    }

    /// Whether the response to it must come before another entry goes out.
    ///
    /// The registry orders all else by the times (R0). Rights are the exception: a user may change records of an installation only
    /// after a takeover, and a log-out only before the next user's.
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

    /// After this many tries it blocks no other entry.
    private static let mostTriesAhead = 3

    /// One entry with the effect of two of one subject.
    func merged(with other: OutboxEntry) -> OutboxEntry {
        var (earlier, later) = observedAt < other.observedAt ? (self, other) : (other, self)
        // Both by one clock, because the time of the earlier one becomes the start of the activity. It moves only
        // forward, so it stays later than a log-out before it, which would end the activity.
        let shift = max(earlier.correction - later.correction, .zero)
        let times = (earlier.observedAt + shift, later.observedAt)
        earlier.report.moveStart { $0 + shift }
        let report = later.report.merging(earlier: earlier.report, observedAt: times)
        // Of two ends the first holds, with its time. Of two log-outs the second.
        let isEnd = if case .end = report { true } else { false }
        let timed = isEnd ? earlier : later
        // An id of its own: a response to either of the two does not settle it.
        var merged = OutboxEntry(id: id ^ other.id, report: report, observedAt: timed.observedAt, owner: owner)
        merged.correction = timed.correction
        return merged
    }

    /// The time of its observation by the registry's clock.
    var correctedTime: Timestamp { observedAt + correction }
}
