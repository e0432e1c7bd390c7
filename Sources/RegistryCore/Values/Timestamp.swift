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
}

extension Timestamp {
    private static let microsecondsPerSecond: Int64 = 1_000_000
    /// From 2000-01-01 to 2001-01-01 (Foundation's reference date): 366 days.
    private static let secondsBeforeReference: Int64 = 31_622_400

    /// Rounds to the nearest microsecond, as the driver does when it binds a `Date`.
    package init(_ date: Date) {
        guard date > .distantPast else { self = .distantPast; return }
        guard date < .distantFuture else { self = .distantFuture; return }
        // Splitting off whole seconds is exact, so only one rounding happens.
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        let fraction = (date.timeIntervalSinceReferenceDate - whole) * Double(Self.microsecondsPerSecond)
        let seconds = Int64(whole) + Self.secondsBeforeReference
        microseconds = seconds * Self.microsecondsPerSecond + Int64(fraction.rounded())
    }

    package var date: Date {
        if self == .distantPast { return .distantPast }
        if self == .distantFuture { return .distantFuture }
        let (seconds, rest) = Int(microseconds).flooringQuotientAndRemainder(by: Int(Self.microsecondsPerSecond))
        return Date(instant: Instant(seconds: seconds - Int(Self.secondsBeforeReference), microseconds: rest))
    }

    /// Cuts `duration` to microseconds. The distant past and future do not change.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        guard time != .distantPast, time != .distantFuture else { return time }
        let (seconds, attoseconds) = duration.components
        let change = seconds * microsecondsPerSecond + attoseconds / 1_000_000_000_000
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
