import Foundation

/// A clock that may run faster than the machine's, so that a test plays an hour in a minute.
package struct APNsClock: Sendable {
    /// The moment at which this clock and the machine's show the same.
    package let start: Date
    /// Its seconds in one second of the machine's.
    package let speed: Double

    package init(start: Date = Date(), speed: Double = 1) {
        self.start = start
        self.speed = speed
    }

    /// The time that it shows.
    package var now: Date { shown(at: Date()) }

    /// The time that it shows at a time of the machine's clock.
    package func shown(at real: Date) -> Date { start.addingTimeInterval(real.timeIntervalSince(start) * speed) }

    /// The duration on the machine's clock of some of its own seconds.
    package func pause(seconds: Double) -> Duration { .seconds(seconds / speed) }
}
