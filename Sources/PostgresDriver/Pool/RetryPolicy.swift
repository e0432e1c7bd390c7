/// The failures after which `withSession` retries its closure, within the caller's time.
package enum RetryPolicy: Sendable {
    case never
    /// Only if it is certain that nothing took effect: ``PostgresError/isSafeToRetry``.
    case ifSafe
    /// For closures that may run twice: all temporary failures, and a lost connection once.
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

    /// Nil for no retry.
    ///
    /// - Parameter duration: the time that the failed try took.
    mutating func pause(after error: PostgresError, duration: Duration, jitter: Double) -> Duration? {
        guard isWorthwhile(error), deadline.remaining > pause else { return nil }
        // A second statement timeout would exceed the time, and replace the clear error by an unclear one.
        guard error.sqlState != SQLState.queryCanceled || deadline.remaining > duration else { return nil }
        defer { pause = min(pause * 2, Self.longestPause) }
        return pause * jitter
    }

    private mutating func isWorthwhile(_ error: PostgresError) -> Bool {
        // A failed connect is not retried here: the pool has its own pause, and callers shall fail fast meanwhile.
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
