import Foundation

package enum RFC3339 {
    package enum Precision: Sendable {
        case milliseconds
        case microseconds
    }

    fileprivate static let secondsPerDay = 86_400

    /// The years 0001 to 9999.
    fileprivate static let range: ClosedRange<Timestamp> = {
        let ends = [1, 10_000].map { CivilDay(year: $0, month: 1, day: 1).daysSince2000 * secondsPerDay }
        return Timestamp(seconds: ends[0], microseconds: 0)...Timestamp(seconds: ends[1], microseconds: -1)
    }()

    /// Reads a time with an offset, such as `2026-03-01T12:00:00.123456+01:00`. Nil if it is malformed.
    ///
    /// The fraction has 1 to 9 digits and is cut to microseconds. Second 60 (a leap second) is allowed only at the end
    /// of a UTC month, and means the first second of the next month, as in POSIX. The result is in the years 0001 to
    /// 9999 of UTC. Between 1729 and 2273 it rounds to the exact microsecond.
    package static func parse(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { utf8 in
            var digits = DigitReader(bytes: utf8)
            return digits.timestamp()?.date
        }
    }

    /// Rounds down to `precision` and writes UTC. A time outside of the years 0001 to 9999 becomes their first or last
    /// microsecond.
    package static func format(_ date: Date, precision: Precision = .milliseconds) -> String {
        var text: [UInt8] = []
        append(date, to: &text, precision: precision)
        return String(decoding: text, as: UTF8.self)
    }

    package static func append(_ date: Date, to text: inout [UInt8], precision: Precision = .milliseconds) {
        let timestamp = min(max(Timestamp(rounding: date), range.lowerBound), range.upperBound)
        let (seconds, microseconds) = timestamp.parts
        let (days, secondOfDay) = seconds.flooringQuotientAndRemainder(by: secondsPerDay)
        let day = CivilDay(daysSince2000: days)
        text.reserveRoom(for: 27)
        text.append(addingCapacity: 27) { text in
            text.append(decimal: day.year, width: 4)
            text.append(UInt8(ascii: "-"), decimal: day.month)
            text.append(UInt8(ascii: "-"), decimal: day.day)
            text.append(UInt8(ascii: "T"), decimal: secondOfDay / 3600)
            text.append(UInt8(ascii: ":"), decimal: secondOfDay / 60 % 60)
            text.append(UInt8(ascii: ":"), decimal: secondOfDay % 60)
            switch precision {
            case .milliseconds: text.append(UInt8(ascii: "."), decimal: microseconds / 1000, width: 3)
            case .microseconds: text.append(UInt8(ascii: "."), decimal: microseconds, width: 6)
            }
            text.append(UInt8(ascii: "Z"))
        }
    }
}

/// RFC 3339, section 5.6.
extension DigitReader {
    fileprivate mutating func timestamp() -> Timestamp? {
        guard let days = day(), take("T") || take("t"), let second = secondOfDay() else { return nil }
        guard let microseconds = microseconds(), let offset = offset(), isAtEnd else { return nil }
        let seconds = days * RFC3339.secondsPerDay + second.value - offset
        let timestamp = Timestamp(seconds: seconds, microseconds: microseconds)
        guard RFC3339.range.contains(timestamp) else { return nil }
        return second.isLeap && !Self.beginsMonth(seconds) ? nil : timestamp
    }

    private static func beginsMonth(_ seconds: Int) -> Bool {
        let (days, secondOfDay) = seconds.flooringQuotientAndRemainder(by: RFC3339.secondsPerDay)
        return secondOfDay == 0 && CivilDay(daysSince2000: days).day == 1
    }

    private mutating func day() -> Int? {
        guard let year = number(of: 4), year >= 1, take("-") else { return nil }
        guard let month = number(of: 2), 1...12 ~= month, take("-") else { return nil }
        guard let day = number(of: 2), day >= 1, day <= CivilDay.length(ofMonth: month, year: year) else { return nil }
        return CivilDay(year: year, month: month, day: day).daysSince2000
    }

    private mutating func secondOfDay() -> (value: Int, isLeap: Bool)? {
        guard let minute = minuteOfDay(), take(":"), let second = number(of: 2), second <= 60 else { return nil }
        return (minute * 60 + second, second == 60)
    }

    private mutating func minuteOfDay() -> Int? {
        guard let hour = number(of: 2), hour < 24, take(":") else { return nil }
        guard let minute = number(of: 2), minute < 60 else { return nil }
        return hour * 60 + minute
    }

    private mutating func microseconds() -> Int? {
        guard take(".") else { return 0 }
        return fraction().map { $0 / 1000 }
    }

    /// In seconds.
    private mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let minute = minuteOfDay() else { return nil }
        return minute * (isWest ? -60 : 60)
    }
}
