/// Which failures make `withSession` run its closure again, inside of the caller's time.
package enum RetryPolicy: Sendable {
    /// None.
    case never
    /// Those after which it is certain that nothing took effect: ``PostgresError/isSafeToRetry``.
    case ifSafe
    /// For closures that may run twice: all that may pass, and a lost connection once.
    case idempotentRead
}

/// Decides about another try, and how long to pause before.
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

    /// The pause before the next try; nil if there is none.
    ///
    /// - Parameter duration: how long the failed try took.
    mutating func pause(after error: PostgresError, duration: Duration, jitter: Double) -> Duration? {
        guard isWorthwhile(error), deadline.remaining > pause else { return nil }
        // A second statement timeout would not fit into the time, and the clear answer would become an unclear one.
        guard error.sqlState != SQLState.queryCanceled || deadline.remaining > duration else { return nil }
        defer { pause = min(pause * 2, Self.longestPause) }
        return pause * jitter
    }

    private mutating func isWorthwhile(_ error: PostgresError) -> Bool {
        // A failed connect is not tried again here: the pool has its own pause, and callers shall fail fast meanwhile.
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
