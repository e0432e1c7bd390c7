/// When `withSession` retries its closure, within the caller's time.
package enum RetryPolicy: Sendable {
    case never
    /// Only if nothing took effect: ``PostgresError/isSafeToRetry``.
    case ifSafe
    /// For closures that may run twice: after all temporary failures, and once after a lost connection.
    case idempotentRead
}

struct RetrySchedule {
    private static let firstPause = Duration.milliseconds(5)
    private static let longestPause = Duration.milliseconds(250)

    let policy: RetryPolicy
    let deadline: Deadline
    private var pause = Self.firstPause
    private var wasLost = false

    init(policy: RetryPolicy, deadline: Deadline) {
        self.policy = policy
        self.deadline = deadline
    }

    /// Nil if the work is not retried.
    ///
    /// - Parameter duration: how long the failed attempt took.
    mutating func pause(after error: PostgresError, duration: Duration, jitter: Double) -> Duration? {
        guard isWorthwhile(error), deadline.remaining > pause else { return nil }
        // A second statement timeout would exceed the deadline and hide the clear first error.
        guard error.sqlState != SQLState.queryCanceled || deadline.remaining > duration else { return nil }
        defer { pause = min(pause * 2, Self.longestPause) }
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
