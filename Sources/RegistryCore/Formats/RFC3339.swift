import Foundation

package enum RFC3339 {
    package enum Precision: Sendable {
        case milliseconds, microseconds
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
private struct DigitReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func number(of width: Int) -> Int? {
        var value = 0
        for _ in 0..<width {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func digit() -> Int? {
        guard position < bytes.count, ASCII.isDigit(bytes[position]) else { return nil }
        position += 1
        return Int(bytes[position - 1] - UInt8(ascii: "0"))
    }

    fileprivate mutating func timestamp() -> Timestamp? {
        guard let days = day(), take("T") || take("t"), let second = secondOfDay() else { return nil }
        guard let microseconds = microseconds(), let offset = offset(), position == bytes.count else { return nil }
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

    /// Reads a fraction of a second of 1 to 9 digits, if there is one.
    private mutating func microseconds() -> Int? {
        guard take(".") else { return 0 }
        var (value, width) = (0, 0)
        while let digit = digit() {
            if width < 6 { value = value * 10 + digit }
            width += 1
        }
        guard 1...9 ~= width else { return nil }
        for _ in min(width, 6)..<6 { value *= 10 }
        return value
    }

    /// In seconds.
    private mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let minute = minuteOfDay() else { return nil }
        return minute * (isWest ? -60 : 60)
    }
}

extension OutputSpan<UInt8> {
    /// Appends the last `width` digits of a number from 0 to 4,294,967,295, with leading zeros.
    @inline(__always)
    mutating func append(decimal number: Int, width: Int) {
        var divisor: UInt32 = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(UInt32(number) / divisor % 10))
            divisor /= 10
        }
    }

    @inline(__always)
    mutating func append(_ separator: UInt8, decimal number: Int, width: Int = 2) {
        append(separator)
        append(decimal: number, width: width)
    }
}

/// A day of the proleptic Gregorian calendar, from the year 1.
struct CivilDay: Hashable {
    let year: Int
    let month: Int
    let day: Int

    private static let daysPerEra = 146_097
    /// From 0000-03-01 to 2000-01-01. Years that begin in March have their leap day at the end.
    private static let daysBefore2000 = 730_425

    init(year: Int, month: Int, day: Int) { (self.year, self.month, self.day) = (year, month, day) }

    init(daysSince2000: Int) {
        let days = daysSince2000 + Self.daysBefore2000
        let (era, dayOfEra) = (days / Self.daysPerEra, days % Self.daysPerEra)
        // Removes the leap days before this day. The remaining years have 365 days.
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - Self.days(beforeYear: yearOfEra)
        // From March, months repeat 31, 30, 31, 30, 31 days: 153 in total.
        let monthOfYear = (5 * dayOfYear + 2) / 153
        day = dayOfYear - Self.days(beforeMonth: monthOfYear) + 1
        month = monthOfYear < 10 ? monthOfYear + 3 : monthOfYear - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    var daysSince2000: Int {
        let (marchYear, marchMonth) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let dayOfYear = Self.days(beforeMonth: marchMonth) + day - 1
        return Self.days(beforeYear: marchYear) + dayOfYear - Self.daysBefore2000
    }

    static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func days(beforeYear year: Int) -> Int { year * 365 + year / 4 - year / 100 + year / 400 }
    private static func days(beforeMonth month: Int) -> Int { (153 * month + 2) / 5 }
}

extension Int {
    /// The remainder is never negative.
    func flooringQuotientAndRemainder(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
