/// An instant on the continuous clock, which also advances while the machine sleeps.
struct Deadline: Sendable, Comparable {
    let instant: ContinuousClock.Instant

    static func after(_ duration: Duration) -> Deadline {
        Deadline(instant: .now.advanced(by: duration))
    }

    static func < (lhs: Deadline, rhs: Deadline) -> Bool { lhs.instant < rhs.instant }

    var isPassed: Bool { instant <= .now }

    /// When to stop waiting for a connection. A statement sent shortly before the deadline would time out, and its
    /// connection would be lost.
    var endOfWaiting: ContinuousClock.Instant { instant.advanced(by: .zero - min(.milliseconds(250), remaining / 4)) }

    var remaining: Duration { ContinuousClock.now.duration(to: instant) }

    /// The timeout for poll(2), rounded up; 0 once the deadline has passed.
    var remainingMilliseconds: Int32 {
        let (seconds, attoseconds) = remaining.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // Bounded; the caller polls again.
        return Int32(min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}
