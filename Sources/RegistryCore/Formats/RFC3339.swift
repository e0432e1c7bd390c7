import Foundation

package enum RFC3339 {
    package enum Precision: Sendable {
        case milliseconds
        case microseconds
    }

    /// Reads a time with an offset, such as `2026-03-01T12:00:00.123456+01:00`. Nil if it is malformed.
    ///
    /// The fraction has 1 to 9 digits and is cut to microseconds. Second 60 (a leap second) is allowed only at the end
    /// of a UTC month, and means the first second of the next month, as in POSIX. The result is in the years 0001 to
    /// 9999 of UTC. Between 1729 and 2273 it rounds to the exact microsecond.
    package static func parse(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { utf8 in
            var reader = RFC3339Reader(digits: DigitReader(bytes: utf8))
            return reader.instant().map(Date.init(instant:))
        }
    }

    /// Rounds down to `precision` and writes UTC. A time outside of the years 0001 to 9999 becomes their first or last
    /// instant.
    package static func format(_ date: Date, precision: Precision = .milliseconds) -> String {
        var text: [UInt8] = []
        append(date, to: &text, precision: precision)
        return String(decoding: text, as: UTF8.self)
    }

    package static func append(_ date: Date, to text: inout [UInt8], precision: Precision = .milliseconds) {
        let instant = Instant(date)
        let (days, secondOfDay) = instant.seconds.flooringQuotientAndRemainder(by: Instant.secondsPerDay)
        let day = CivilDay(daysSinceReference: days)
        text.reserveRoom(for: 27)
        text.append(addingCapacity: 27) { text in
            text.append(decimal: day.year, width: 4)
            text.append(UInt8(ascii: "-"), decimal: day.month)
            text.append(UInt8(ascii: "-"), decimal: day.day)
            text.append(UInt8(ascii: "T"), decimal: secondOfDay / 3600)
            text.append(UInt8(ascii: ":"), decimal: secondOfDay / 60 % 60)
            text.append(UInt8(ascii: ":"), decimal: secondOfDay % 60)
            switch precision {
            case .milliseconds: text.append(UInt8(ascii: "."), decimal: instant.microseconds / 1000, width: 3)
            case .microseconds: text.append(UInt8(ascii: "."), decimal: instant.microseconds, width: 6)
            }
            text.append(UInt8(ascii: "Z"))
        }
    }
}

/// RFC 3339, section 5.6.
private struct RFC3339Reader {
    var digits: DigitReader

    mutating func instant() -> Instant? {
        guard let days = day(), digits.take("T") || digits.take("t"), let second = secondOfDay() else { return nil }
        guard let microseconds = microseconds(), let offset = offset(), digits.isAtEnd else { return nil }
        let instant = Instant(seconds: days * Instant.secondsPerDay + second.value - offset, microseconds: microseconds)
        guard Instant.range.contains(instant.seconds) else { return nil }
        return second.isLeap && !instant.beginsMonth ? nil : instant
    }

    private mutating func day() -> Int? {
        guard let year = digits.number(of: 4), year >= 1, digits.take("-") else { return nil }
        guard let month = digits.number(of: 2), 1...12 ~= month, digits.take("-") else { return nil }
        guard let day = digits.number(of: 2), day >= 1, day <= CivilDay.length(ofMonth: month, year: year) else {
            return nil
        }
        return CivilDay(year: year, month: month, day: day).daysSinceReference
    }

    private mutating func secondOfDay() -> (value: Int, isLeap: Bool)? {
        guard let hour = digits.number(of: 2), hour < 24, digits.take(":") else { return nil }
        guard let minute = digits.number(of: 2), minute < 60, digits.take(":") else { return nil }
        guard let second = digits.number(of: 2), second <= 60 else { return nil }
        return (hour * 3600 + minute * 60 + second, second == 60)
    }

    private mutating func microseconds() -> Int? {
        guard digits.take(".") else { return 0 }
        return digits.fraction().map { $0 / 1000 }
    }

    private mutating func offset() -> Int? {
        if digits.take("Z") || digits.take("z") { return 0 }
        let isWest = digits.take("-")
        guard isWest || digits.take("+") else { return nil }
        guard let hour = digits.number(of: 2), hour < 24, digits.take(":") else { return nil }
        guard let minute = digits.number(of: 2), minute < 60 else { return nil }
        return (hour * 3600 + minute * 60) * (isWest ? -1 : 1)
    }
}
