import Foundation

/// The two clocks of access decisions, and the wait; tests set them.
struct ServiceClock: Sendable {
    /// The time of day, for the times in credentials.
    let date: @Sendable () -> Date
    /// A monotonic time from any start, for lifetimes.
    let uptime: @Sendable () -> Duration
    /// Waits for a duration, or until the task is cancelled, without blocking a thread.
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

    func sleep(until time: Duration) async {
        let rest = time - uptime()
        if rest > .zero { await sleep(rest) }
    }

    static let system: ServiceClock = {
        let start = ContinuousClock.now
        return ServiceClock(date: { Date() }, uptime: { ContinuousClock.now - start })
    }()
}
