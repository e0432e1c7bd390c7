import Foundation

extension Timestamp {
    /// RFC 3339 in UTC with milliseconds, such as `2026-11-21T08:30:00.412Z`.
    package var text: String {
        let (days, rest) = milliseconds.flooredQuotientAndRemainder(by: 86_400_000)
        let (year, month, day) = Self.civilDay(days)
        let seconds = rest / 1000
        let date = "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))"
        let time = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { Self.digits($0, 2) }.joined(separator: ":")
        return "\(date)T\(time).\(Self.digits(rest % 1000, 3))Z"
    }

    /// Reads RFC 3339 in UTC, as the registry writes it, with any number of digits of a second or none.
    package init?(text: String) {
        guard let match = text.wholeMatch(of: #/(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?[Zz]/#)
        else {
            return nil
        }
        let fraction = (match.7.map { "\($0)00" } ?? "000").prefix(3)
        self.init(
            day: (match.1, match.2, match.3),
            time: (match.4, match.5, match.6),
            milliseconds: Int64(fraction) ?? 0
        )
    }

    /// Reads the `Date` of an HTTP answer, such as `Sat, 21 Nov 2026 08:30:00 GMT` (RFC 9110, section 5.6.7).
    package init?(httpDate text: String) {
        guard
            let match = text.wholeMatch(of: #/[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT/#),
            let month = Self.months.firstIndex(of: match.2)
        else { return nil }
        self.init(day: (match.3, "\(month + 1)", match.1), time: (match.4, match.5, match.6), milliseconds: 0)
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private init?(
        day: (Substring, Substring, Substring),
        time: (Substring, Substring, Substring),
        milliseconds: Int64
    ) {
        let (year, month, day) = (Int64(day.0) ?? 0, Int64(day.1) ?? 0, Int64(day.2) ?? 0)
        let (hour, minute, second) = (Int64(time.0) ?? 0, Int64(time.1) ?? 0, Int64(time.2) ?? 0)
        guard year >= 1, 1...12 ~= month, 1...31 ~= day, hour < 24, minute < 60, second <= 60 else { return nil }
        let seconds = hour * 3600 + minute * 60 + second
        self.init(milliseconds: (Self.days(year, month, day) * 86_400 + seconds) * 1000 + milliseconds)
    }

    /// The day with a number since 1970, in the proleptic Gregorian calendar; years begin in March, so that a leap day is last.
    private static func civilDay(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredQuotientAndRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = yearOfEra + era * 400 + (month < 10 ? 0 : 1)
        return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let (era, yearOfEra) = year.flooredQuotientAndRemainder(by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func digits(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension Int64 {
    fileprivate func flooredQuotientAndRemainder(by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
