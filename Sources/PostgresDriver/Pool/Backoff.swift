/// The pause after failed connects: 50 ms, doubled up to one second.
struct Backoff {
    private static let first = Duration.milliseconds(50)
    private static let longest = Duration.seconds(1)
    private(set) var error: (any Error)?
    private(set) var end = ContinuousClock.now
    private var pause = Self.first

    mutating func note(_ error: any Error, now: ContinuousClock.Instant, jitter: Double) {
        // Concurrent attempts count once.
        guard self.error == nil || now >= end else { return }
        self.error = error
        end = now.advanced(by: pause * jitter)
        pause = min(pause * 2, Self.longest)
    }

    func allowsConnecting(now: ContinuousClock.Instant, connecting: Int) -> Bool {
        error == nil || (now >= end && connecting == 0)
    }
}
