import TestSupport
import Testing

@testable import RegistryCore

@Suite struct DurationTests {
    static let valid: [(text: String, duration: Duration, canonical: String)] = [
        ("PT8H", .seconds(28_800), "PT8H"), ("P7D", .seconds(604_800), "P7D"), ("P1W", .seconds(604_800), "P7D"),
        ("P1W2D", .seconds(777_600), "P9D"), ("PT0S", .zero, "PT0S"), ("P0D", .zero, "PT0S"),
        ("PT90M", .seconds(5400), "PT1H30M"), ("PT24H", .seconds(86_400), "P1D"),
        ("P1DT12H", .seconds(129_600), "P1DT12H"), ("PT1H1S", .seconds(3601), "PT1H1S"),
        ("PT0.5S", .milliseconds(500), "PT0.5S"), ("PT1,25S", .milliseconds(1250), "PT1.25S"),
        ("P1DT0.000000001S", .seconds(86_400) + .nanoseconds(1), "P1DT0.000000001S"),
        ("P1W1DT1H1M1.5S", .seconds(694_861) + .milliseconds(500), "P8DT1H1M1.5S"),
        ("PT007H", .seconds(25_200), "PT7H"),
        ("PT9223372036854775807S", .seconds(Int64.max), "P106751991167300DT15H30M7S"),
    ]

    @Test(arguments: valid)
    func `Durations with weeks are parsed, and formatted with days`(text: String, duration: Duration, canonical: String)
    {
        #expect(ISO8601Duration.parse(text) == duration)
        #expect(ISO8601Duration.format(duration) == canonical)
        #expect(ISO8601Duration.parse(canonical) == duration)
    }

    static let invalid = [
        "", "P", "PT", "T8H", "8H", "pt8h", "P8H", "PT8", "P7", "P1Y", "P1M", "P1Y2M", "PT8D", "P1DT", "PT1S1M",
        "PT1H1H", "P1D1W", "PT1.5H", "P0.5D", "PT.5S", "PT1.S", "PT1.0000000001S", "-PT8H", "+PT8H", "PT-8H", "PT+8H",
        "PT8H ", " PT8H", "PT8HT1M", "PT9223372036854775808S", "PT9223372036854775807M", "P99999999999999999999D",
        "PT9223372036854775807H1S", "PT8h", "PT８H", "P1W\u{0}",
    ]

    @Test(arguments: invalid) func `Months, years and malformed texts are refused`(text: String) {
        #expect(ISO8601Duration.parse(text) == nil)
    }

    @Test func `Random durations survive a round trip`() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<10_000 {
            let duration =
                Duration.seconds(Int64.random(in: 0...10_000_000, using: &generator))
                + .nanoseconds(Int64.random(in: 0..<1_000_000_000, using: &generator))
            #expect(ISO8601Duration.parse(ISO8601Duration.format(duration)) == duration)
        }
    }

    @Test func `Fractions below a nanosecond are dropped, and negative durations have a sign`() {
        #expect(ISO8601Duration.format(Duration(secondsComponent: 0, attosecondsComponent: 999_999_999)) == "PT0S")
        #expect(ISO8601Duration.format(.seconds(-60)) == "-PT1M")
        #expect(ISO8601Duration.format(.milliseconds(-1)) == "-PT0.001S")
    }
}

@Suite struct HexadecimalTests {
    @Test(arguments: [("", []), ("00", [0]), ("ff", [255]), ("FF", [255]), ("aBcD09", [0xAB, 0xCD, 0x09])])
    func `Upper and lower case are parsed, and lower case is written`(text: String, bytes: [UInt8]) {
        #expect(Hexadecimal.decode(text) == bytes)
        #expect(Hexadecimal.encode(bytes) == text.lowercased())
    }

    @Test(arguments: [
        "0", "abc", "0g", "g0", " 0", "0x", "-1", "00 ", "é", "０0", "00\u{0}0", "/0", ":0", "@0", "G0", "`0",
    ])
    func `Odd lengths and other characters are rejected`(text: String) { #expect(Hexadecimal.decode(text) == nil) }

    @Test func `Every byte survives a round trip`() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes)) == bytes)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes).uppercased()) == bytes)
        var appended = Array("x".utf8)
        Hexadecimal.append(bytes.lazy.map { $0 }, to: &appended)
        #expect(String(decoding: appended, as: UTF8.self) == "x" + Hexadecimal.encode(bytes))
    }
}
