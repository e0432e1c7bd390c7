import Foundation

/// The two clocks that access is decided by; tests set both.
struct ServiceClock: Sendable {
    /// The time of day: what the times in credentials are compared with.
    let date: @Sendable () -> Date
    /// A time that only goes forward, from any start: what lifetimes are measured by.
    let uptime: @Sendable () -> Duration

    static let system: ServiceClock = {
        let start = ContinuousClock.now
        return ServiceClock(date: { Date() }, uptime: { ContinuousClock.now - start })
    }()
}
