/// The thread on which a request is handed to the store by one who has no task that could wait.
public struct CallersThread: Sendable {
    /// Runs what goes on there between waits; nil is Swift's own pool.
    public let executor: (any TaskExecutor)?
    /// For how long a request that goes alone may block the thread until a commit is on disk.
    let patience: Duration

    /// - Parameters:
    ///   - executor: runs what goes on there between waits; nil is Swift's own pool.
    ///   - isSpare: nobody else has needed the thread lately, so it may wait for a commit as long as a quick disk takes.
    ///     Otherwise it only sends, and another thread waits.
    public init(executor: (any TaskExecutor)?, isSpare: Bool = false) {
        self.executor = executor
        patience = isSpare ? .milliseconds(1) : .zero
    }

    /// Any of Swift's own pool.
    public static let any = CallersThread(executor: nil)
}
