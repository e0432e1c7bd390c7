import Foundation

/// Whole seconds since 2001-01-01 UTC (Foundation's reference date), and microseconds after them.
struct Instant: Hashable {
    let seconds: Int
    /// 0 to 999,999.
    let microseconds: Int

    static let secondsPerDay = 86_400
    private static let microsecondsPerSecond = 1_000_000

    /// The years 0001 to 9999.
    static let range =
        (CivilDay(year: 1, month: 1, day: 1).daysSinceReference
            * secondsPerDay)..<(CivilDay(year: 10_000, month: 1, day: 1).daysSinceReference * secondsPerDay)

    init(seconds: Int, microseconds: Int) {
        self.seconds = seconds
        self.microseconds = microseconds
    }

    /// Rounds to the nearest microsecond and clamps to `range`.
    init(_ date: Date) {
        let interval = date.timeIntervalSinceReferenceDate
        guard interval >= Double(Self.range.lowerBound) else {
            self.init(seconds: Self.range.lowerBound, microseconds: 0)
            return
        }
        guard interval < Double(Self.range.upperBound) else {
            self.init(seconds: Self.range.upperBound - 1, microseconds: Self.microsecondsPerSecond - 1)
            return
        }
        // Splitting off whole seconds is exact, so only one rounding happens.
        let whole = interval.rounded(.down)
        let fraction = Int(((interval - whole) * Double(Self.microsecondsPerSecond)).rounded())
        let carries = fraction == Self.microsecondsPerSecond && Int(whole) + 1 < Self.range.upperBound
        self.init(
            seconds: Int(whole) + (carries ? 1 : 0),
            microseconds: carries ? 0 : min(fraction, Self.microsecondsPerSecond - 1)
        )
    }

    var beginsMonth: Bool {
        let (days, secondOfDay) = seconds.flooringQuotientAndRemainder(by: Self.secondsPerDay)
        return secondOfDay == 0 && CivilDay(daysSinceReference: days).day == 1
    }
}

extension Date {
    init(instant: Instant) {
        self.init(timeIntervalSinceReferenceDate: Double(instant.seconds) + Double(instant.microseconds) / 1_000_000)
    }
}

/// A day of the proleptic Gregorian calendar, from the year 1.
struct CivilDay: Hashable {
    let year: Int
    let month: Int
    let day: Int

    private static let daysPerEra = 146_097
    /// From 0000-03-01 to 2001-01-01. Years that begin in March have their leap day at the end.
    private static let daysBeforeReference = 730_791

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSinceReference: Int) {
        let days = daysSinceReference + Self.daysBeforeReference
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

    var daysSinceReference: Int {
        let (marchYear, marchMonth) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let dayOfYear = Self.days(beforeMonth: marchMonth) + day - 1
        return Self.days(beforeYear: marchYear) + dayOfYear - Self.daysBeforeReference
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
