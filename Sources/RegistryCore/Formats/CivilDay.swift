/// A day of the proleptic Gregorian calendar, from the year 1.
struct CivilDay: Hashable {
    let year: Int
    let month: Int
    let day: Int

    private static let daysPerEra = 146_097
    /// From 0000-03-01 to 2000-01-01. Years that begin in March have their leap day at the end.
    private static let daysBefore2000 = 730_425

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

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
