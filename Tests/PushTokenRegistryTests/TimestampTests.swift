import Foundation
import Testing

@testable import PushTokenRegistry

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_795_249_800_412, "2026-11-21T08:30:00.412Z"),
        (951_782_400_001, "2000-02-29T00:00:00.001Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (1_795_249_800_001, "2026-11-21T08:30:00.001Z"), (1_795_249_799_999, "2026-11-21T08:29:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
    func `Times are written and read in RFC 3339 with milliseconds`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).text == text)
        #expect(Timestamp(text: text)?.milliseconds == milliseconds)
    }

    @Test func `Every millisecond of a second survives a round trip`() {
        for milliseconds in Int64(1_795_249_800_000)..<1_795_249_801_000 {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(time.text.hasSuffix(String(format: ":00.%03dZ", Int(milliseconds % 1000))))
            #expect(Timestamp(text: time.text) == time)
        }
    }

    @Test func `Fractions of any length are read and truncated to milliseconds`() {
        #expect(Timestamp(text: "1970-01-01T00:00:01Z")?.milliseconds == 1000)
        #expect(Timestamp(text: "1970-01-01T00:00:01.5Z")?.milliseconds == 1500)
        #expect(Timestamp(text: "1970-01-01T00:00:01.123456Z")?.milliseconds == 1123)
    }

    @Test(arguments: ["", "now", "2026-13-01T00:00:00Z", "2026-11-21", "2026-11-21T08:30:00+01:00"])
    func `Invalid text is not read as a time`(text: String) { #expect(Timestamp(text: text) == nil) }

    @Test func `The Date of a response is read`() {
        #expect(Timestamp(httpDate: "Sat, 21 Nov 2026 08:30:00 GMT")?.text == "2026-11-21T08:30:00.000Z")
        #expect(Timestamp(httpDate: "Sat, 21 Foo 2026 08:30:00 GMT") == nil)
        #expect(Timestamp(httpDate: "yesterday") == nil)
    }

    @Test func `A date is truncated to milliseconds and clamped to the years 1970 to 9999`() {
        #expect(Timestamp(Date(timeIntervalSince1970: 1.2345)).milliseconds == 1234)
        #expect(Timestamp(.distantPast).text == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(.distantFuture).text.hasPrefix("4001-"))
        #expect(Timestamp(Date(timeIntervalSince1970: 1e18)).text.hasPrefix("9999-"))
    }
}
