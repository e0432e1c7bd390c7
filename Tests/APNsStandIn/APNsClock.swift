import Foundation

/// A clock that can run faster than the machine's, so that a test plays an hour in a minute.
package struct APNsClock: Sendable {
    /// At this time, this clock and the machine's clock are equal.
    package let start: Date
    /// Seconds of this clock per second of the machine's clock.
    package let speed: Double

    package init(start: Date = Date(), speed: Double = 1) {
        self.start = start
        self.speed = speed
    }

    package var now: Date { shown(at: Date()) }

    package func shown(at real: Date) -> Date { start.addingTimeInterval(real.timeIntervalSince(start) * speed) }

    /// Converts seconds of this clock to a duration of the machine's clock.
    package func pause(seconds: Double) -> Duration { .seconds(seconds / speed) }
}
