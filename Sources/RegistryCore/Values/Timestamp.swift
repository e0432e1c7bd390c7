import Foundation

/// A time in Postgres's unit. Times that are equal in the database are equal here. `Date`s are floating-point numbers,
/// so several can mean one stored time.
package struct Timestamp: Sendable, Hashable, Comparable {
    /// Since 2000-01-01 00:00 UTC.
    package let microseconds: Int64

    /// Postgres's `-infinity`.
    package static let distantPast = Timestamp(microseconds: .min)
    /// Postgres's `infinity`.
    package static let distantFuture = Timestamp(microseconds: .max)

    package init(microseconds: Int64) { self.microseconds = microseconds }
    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    private static let microsecondsPerSecond = 1_000_000
    /// From 2000-01-01 to 2001-01-01 (Foundation's reference date): 366 days.
    private static let secondsBeforeReference = 31_622_400

    /// Since 2000-01-01 00:00 UTC.
    init(seconds: Int, microseconds: Int) {
        self.init(microseconds: Int64(seconds * Self.microsecondsPerSecond + microseconds))
    }

    /// Whole seconds since 2000-01-01 00:00 UTC, and 0 to 999,999 microseconds after them.
    var parts: (Int, Int) { Int(microseconds).flooringQuotientAndRemainder(by: Self.microsecondsPerSecond) }

    /// Rounds to the nearest microsecond. Times many millennia away become closer ones.
    init(rounding date: Date) {
        // In this order, NaN becomes the lower bound.
        let interval = max(-1e11, min(date.timeIntervalSinceReferenceDate, 1e12))
        // Splitting off whole seconds is exact, so only one rounding happens.
        let whole = interval.rounded(.down)
        let fraction = (interval - whole) * Double(Self.microsecondsPerSecond)
        self.init(seconds: Int(whole) + Self.secondsBeforeReference, microseconds: Int(fraction.rounded()))
    }

    /// Rounds to the nearest microsecond.
    package init(_ date: Date) {
        guard date > .distantPast else { self = .distantPast; return }
        guard date < .distantFuture else { self = .distantFuture; return }
        self.init(rounding: date)
    }

    package var date: Date {
        if self == .distantPast { return .distantPast }
        if self == .distantFuture { return .distantFuture }
        let (seconds, microseconds) = parts
        let fraction = Double(microseconds) / Double(Self.microsecondsPerSecond)
        return Date(timeIntervalSinceReferenceDate: Double(seconds - Self.secondsBeforeReference) + fraction)
    }

    /// Cuts `duration` to microseconds. The distant past and future do not change.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        guard time != .distantPast, time != .distantFuture else { return time }
        let (seconds, attoseconds) = duration.components
        let change = seconds * Int64(microsecondsPerSecond) + attoseconds / 1_000_000_000_000
        let (sum, isBeyond) = time.microseconds.addingReportingOverflow(change)
        guard isBeyond else { return Timestamp(microseconds: sum) }
        return change < 0 ? .distantPast : .distantFuture
    }

    package static func - (time: Timestamp, duration: Duration) -> Timestamp { time + (.zero - duration) }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        let (difference, isBeyond) = left.microseconds.subtractingReportingOverflow(right.microseconds)
        return .microseconds(isBeyond ? (left < right ? .min : .max) : difference)
    }
}
