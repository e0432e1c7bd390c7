/// When `withSession` retries its closure, within the caller's time.
package enum RetryPolicy: Sendable {
    case never
    /// Only if nothing took effect: ``PostgresError/isSafeToRetry``.
    case ifSafe
    /// For closures that may run twice: after all temporary failures, and once after a lost connection.
    case idempotentRead
}

struct RetrySchedule {
    let policy: RetryPolicy
    let deadline: Deadline
    private var pause = Duration.milliseconds(5)
    private var wasLost = false

    init(policy: RetryPolicy, deadline: Deadline) { (self.policy, self.deadline) = (policy, deadline) }

    /// Nil if the work is not retried.
    mutating func pause(after error: PostgresError, duration: Duration, jitter: Double) -> Duration? {
        guard isWorthwhile(error), deadline.remaining > pause else { return nil }
        // A second statement timeout would exceed the deadline and hide the clear first error.
        guard error.sqlState != SQLState.queryCanceled || deadline.remaining > duration else { return nil }
        defer { pause = min(pause * 2, .milliseconds(250)) }
        return pause * jitter
    }

    private mutating func isWorthwhile(_ error: PostgresError) -> Bool {
        // Failed connects are not retried here, because the pool has its own pause and callers must fail fast.
        guard [.server, .connectionLost].contains(error.code) else { return false }
        switch policy {
        case .never: return false
        case .ifSafe: return error.isSafeToRetry
        case .idempotentRead:
            defer { wasLost = wasLost || error.outcome == .unknown }
            return error.outcome == .nothingTookEffect || (error.outcome == .unknown && !wasLost)
        }
    }
}

/// An instant on the continuous clock, which also advances while the machine sleeps.
typealias Deadline = ContinuousClock.Instant

extension Deadline {
    static func after(_ duration: Duration) -> Deadline { .now.advanced(by: duration) }
    var isPassed: Bool { self <= .now }

    /// When to stop waiting for a connection. A statement sent shortly before the deadline would time out, and its
    /// connection would be lost.
    var endOfWaiting: Deadline { advanced(by: .zero - min(.milliseconds(250), remaining / 4)) }
    var remaining: Duration { Deadline.now.duration(to: self) }

    /// The timeout for poll(2), rounded up; 0 once the deadline has passed.
    var remainingMilliseconds: Int32 {
        let (seconds, attoseconds) = remaining.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // Bounded; the caller polls again.
        return Int32(min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}
