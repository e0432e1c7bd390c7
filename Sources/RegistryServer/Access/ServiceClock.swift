import Foundation

/// Clocks and waits of access decisions. Tests replace them.
struct ServiceClock: Sendable {
    /// For the times in credentials.
    let date: @Sendable () -> Date
    /// A monotonic time for lifetimes.
    let uptime: @Sendable () -> Duration
    /// Returns early if the task is cancelled.
    var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0, clock: .continuous) }

    func sleep(until time: Duration) async {
        let rest = time - uptime()
        if rest > .zero { await sleep(rest) }
    }

    static let system: ServiceClock = {
        let start = ContinuousClock.now
        return ServiceClock(date: { Date() }, uptime: { ContinuousClock.now - start })
    }()
}
