/// When the pool may connect again after failures: 50 ms, doubled each time up to one second.
struct Backoff {
    private static let first = Duration.milliseconds(50)
    private static let longest = Duration.seconds(1)

    /// The last failure; nil when the last attempt succeeded.
    private(set) var error: (any Error)?
    private(set) var end = ContinuousClock.now
    private var pause = Self.first

    mutating func note(_ error: any Error, now: ContinuousClock.Instant, jitter: Double) {
        // Attempts that were under way together count once.
        guard self.error == nil || now >= end else { return }
        self.error = error
        end = now.advanced(by: pause * jitter)
        pause = min(pause * 2, Self.longest)
    }

    /// After a failure one attempt at a time goes ahead, until it has succeeded.
    func allowsConnecting(now: ContinuousClock.Instant, connecting: Int) -> Bool {
        error == nil || (now >= end && connecting == 0)
    }
}
