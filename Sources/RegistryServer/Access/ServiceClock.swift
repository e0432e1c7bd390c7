import Foundation

/// The two clocks that access is decided by, and how time is waited for; tests set them.
struct ServiceClock: Sendable {
    /// The time of day: what the times in credentials are compared with.
    let date: @Sendable () -> Date
    /// A time that only goes forward, from any start: what lifetimes are measured by.
    let uptime: @Sendable () -> Duration
    /// Waits for so long, or until the task is cancelled; no thread is kept.
    let sleep: @Sendable (Duration) async -> Void

    init(
        date: @escaping @Sendable () -> Date,
        uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0, clock: .continuous) }
    ) {
        self.date = date
        self.uptime = uptime
        self.sleep = sleep
    }

    /// Waits until the uptime is no less than this.
    func sleep(until time: Duration) async {
        let rest = time - uptime()
        if rest > .zero { await sleep(rest) }
    }

    static let system: ServiceClock = {
        let start = ContinuousClock.now
        return ServiceClock(date: { Date() }, uptime: { ContinuousClock.now - start })
    }()
}
