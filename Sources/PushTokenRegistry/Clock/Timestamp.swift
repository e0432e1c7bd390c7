import Foundation

/// A time in whole milliseconds, the precision of the registry's times.
package struct Timestamp: Sendable, Hashable, Comparable, Codable {
    /// Milliseconds since 1970 in UTC.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Rounds down, and clamps to the years 1970 to 9999.
    package init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        self.milliseconds = Int64(min(max(milliseconds, 0), 253_402_300_799_999))
    }

    package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
    package var next: Timestamp { Timestamp(milliseconds: milliseconds + 1) }

    package static let distantPast = Timestamp(milliseconds: 0)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    package var magnitude: Duration { self < .zero ? .zero - self : self }
}

extension Timestamp {
    /// RFC 3339 in UTC with milliseconds, such as `2026-11-21T08:30:00.412Z`.
    ///
    /// Foundation would take the milliseconds from a floating-point number.
    package var text: String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        return whole.dropLast() + String(format: ".%03dZ", Int(rest))
    }

    /// Reads RFC 3339 in UTC, as the registry writes it, with any number of digits of a second or none.
    package init?(text: String) {
        guard let match = text.wholeMatch(of: #/([-0-9]+T[:0-9]+)(?:\.(\d{1,9}))?Z/#),
            let whole = try? Date("\(match.1)Z", strategy: .iso8601)
        else { return nil }
        let fraction = match.2.map { "\($0)00".prefix(3) }.flatMap { Int64($0) } ?? 0
        self.init(milliseconds: Timestamp(whole).milliseconds + fraction)
    }

    /// Reads the `Date` of an HTTP answer, such as `Sat, 21 Nov 2026 08:30:00 GMT` (RFC 9110, section 5.6.7).
    package init?(httpDate text: String) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = formatter.date(from: text) else { return nil }
        self.init(date)
    }
}
