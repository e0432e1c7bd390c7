import Foundation
import TestSupport
import Testing

@testable import RegistryCore

@Suite struct TimestampTests {
    static let valid: [(text: String, secondsSince1970: Int, microseconds: Int)] = [
        ("1970-01-01T00:00:00Z", 0, 0), ("2001-01-01T00:00:00.000Z", 978_307_200, 0),
        ("2000-02-29T12:00:00Z", 951_825_600, 0),
        ("2024-02-29T23:59:59.999999Z", 1_709_251_199, 999_999), ("1985-04-12T23:20:50.52Z", 482_196_050, 520_000),
        ("1996-12-19T16:39:57-08:00", 851_042_397, 0), ("1937-01-01T12:00:27.87+00:20", -1_041_337_173, 870_000),
        ("2026-03-01t12:00:00z", 1_772_366_400, 0), ("2026-03-01T12:00:00-00:00", 1_772_366_400, 0),
        ("2026-03-01T13:30:00+01:30", 1_772_366_400, 0), ("2026-02-28T12:01:00-23:59", 1_772_366_400, 0),
        ("1969-12-31T23:59:59.5Z", -1, 500_000), ("2026-03-01T12:00:00.1234567Z", 1_772_366_400, 123_456),
        ("2026-03-01T12:00:00.123456789Z", 1_772_366_400, 123_456), ("2026-03-01T12:00:00.000001Z", 1_772_366_400, 1),
        ("1990-12-31T23:59:60Z", 662_688_000, 0), ("1990-12-31T15:59:60.5-08:00", 662_688_000, 500_000),
        ("2012-06-30T23:59:60Z", 1_341_100_800, 0), ("1900-03-01T00:00:00Z", -2_203_891_200, 0),
        ("0001-01-01T00:00:00Z", -62_135_596_800, 0), ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
        ("0001-01-01T01:00:00+01:00", -62_135_596_800, 0), ("9999-12-31T22:59:59-01:00", 253_402_300_799, 0),
    ]

    @Test(arguments: valid)
    func `RFC 3339 is parsed and truncated to microseconds`(text: String, secondsSince1970: Int, microseconds: Int)
        throws
    {
        let time = Timestamp(rounding: try #require(RFC3339.parse(text)))
        #expect(time == Timestamp(seconds: secondsSince1970 - 946_684_800, microseconds: microseconds))
    }

    static let invalid = [
        "", "2026-03-01", "12:00:00Z", "2026-03-01T12:00:00", "2026-03-01 12:00:00Z", "2026-03-01T12:00Z",
        "20260301T120000Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z", "2026-02-30T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:60Z", "2026-03-15T23:59:60Z",
        "2026-01-31T23:59:60+01:00", "9999-12-31T23:59:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z",
        "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+01", "2026-01-01T00:00:00 Z", "2026-01-01T00:00:00ZZ",
        "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "+2026-01-01T00:00:00Z", "-026-01-01T00:00:00Z",
        "2026-1-01T00:00:00Z", "2026-01-01T0:00:00Z", "２026-01-01T00:00:00Z", "2026-01-01T00:00:00UTC",
        "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-01-01T00:00:00Z\u{0}", "10000-01-01T00:00:00Z",
        "2026-01-01T00:00:00−01:00", "2026/01/01T00:00:00Z", "2026-01-01T-1:00:00Z",
    ]

    @Test(arguments: invalid) func `Malformed times are rejected`(text: String) { #expect(RFC3339.parse(text) == nil) }

    static let formatted: [(seconds: Double, milliseconds: String, microseconds: String)] = [
        (0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000000Z"),
        (-0.000_001, "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999999Z"),
        (1_772_366_400.123_999, "2026-03-01T12:00:00.123Z", "2026-03-01T12:00:00.123999Z"),
        (1_772_366_400.999_999, "2026-03-01T12:00:00.999Z", "2026-03-01T12:00:00.999999Z"),
        (1_772_366_399.999_999_8, "2026-03-01T12:00:00.000Z", "2026-03-01T12:00:00.000000Z"),
        (951_782_400, "2000-02-29T00:00:00.000Z", "2000-02-29T00:00:00.000000Z"),
        (-.infinity, "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000000Z"),
        (.nan, "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000000Z"),
        (1e300, "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999999Z"),
        (-62_135_596_800, "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000000Z"),
    ]

    @Test(arguments: formatted) func `Milliseconds and microseconds are written, and writing never fails`(
        seconds: Double,
        milliseconds: String,
        microseconds: String
    ) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(RFC3339.format(date) == milliseconds)
        #expect(RFC3339.format(date, precision: .microseconds) == microseconds)
    }

    @Test func `10,000 random instants agree with Foundation's formatter`() {
        let formatter = ISO8601DateFormatter()
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<10_000 {
            // From 1600 to 9999, in whole seconds, because Foundation's formatter sometimes loses a millisecond of a fraction.
            let seconds = Int64.random(in: -11_676_096_000..<253_402_300_800, using: &generator)
            let date = Date(timeIntervalSince1970: Double(seconds))
            let text = formatter.string(from: date)
            #expect(RFC3339.format(date) == text.dropLast() + ".000Z")
            #expect(RFC3339.parse(text) == date)
        }
    }

    @Test func `10,000 random times survive a round trip with any offset`() throws {
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<10_000 {
            // From 1729 to 2273, the range in which a `Double` has microseconds.
            let time = Timestamp(
                seconds: .random(in: -8_558_312_191..<8_621_556_991, using: &generator),
                microseconds: .random(in: 0..<1_000_000, using: &generator)
            )
            let date = time.date
            let text = RFC3339.format(date, precision: .microseconds)
            #expect(RFC3339.parse(text) == date)
            #expect(Timestamp(date) == time)
            let hours = Int.random(in: 10...23, using: &generator)
            let shifted = text.dropLast() + "+\(hours):30"
            #expect(RFC3339.parse(String(shifted)) == (time - .seconds(hours * 3600 + 1800)).date)
        }
    }

    @Test func `Every day from 0001 to 9999 follows the day before`() {
        var expected = CivilDay(year: 1, month: 1, day: 1)
        let first = expected.daysSince2000
        var failures = 0
        for days in first..<(first + 3_652_059) {
            let day = CivilDay(daysSince2000: days)
            if day != expected || day.daysSince2000 != days { failures += 1 }
            expected = Self.dayAfter(day)
        }
        #expect(failures == 0)
        #expect(expected == CivilDay(year: 10_000, month: 1, day: 1))
    }

    private static func dayAfter(_ day: CivilDay) -> CivilDay {
        if day.day < CivilDay.length(ofMonth: day.month, year: day.year) {
            return CivilDay(year: day.year, month: day.month, day: day.day + 1)
        }
        return day.month < 12
            ? CivilDay(year: day.year, month: day.month + 1, day: 1) : CivilDay(year: day.year + 1, month: 1, day: 1)
    }
}
