/// The instant at which a caller stops waiting, on the clock that also runs while the machine sleeps.
struct Deadline: Sendable, Comparable {
    let instant: ContinuousClock.Instant

    static func after(_ duration: Duration) -> Deadline {
        Deadline(instant: .now.advanced(by: duration))
    }

    static func < (lhs: Deadline, rhs: Deadline) -> Bool { lhs.instant < rhs.instant }

    var isPassed: Bool { instant <= .now }

    /// When waiting for a connection ends: a statement sent with a moment left gets no answer in time, and costs the
    /// connection.
    var endOfWaiting: ContinuousClock.Instant { instant.advanced(by: .zero - min(.milliseconds(250), remaining / 4)) }

    var remaining: Duration { ContinuousClock.now.duration(to: instant) }

    /// The time left for poll(2), rounded up so that a wait never ends too early; 0 once passed.
    var remainingMilliseconds: Int32 {
        let (seconds, attoseconds) = remaining.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // After a shorter wait poll is called again.
        return Int32(min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}
