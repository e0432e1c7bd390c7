import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C15: observation times increase and follow the registry's clock.
@Suite struct ObservationClockTests {
    private let played = PlayedOutbox()

    @Test func `Each observation is later than the previous one, even if the clock stops or goes back`() {
        var clock = ObservationClock()
        let times = [10.0, 10, 3, 10.0005, 11].map { clock.observe(.at($0)) }
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
        #expect(times.last == .at(11))
    }

    @Test func `Observations stay in order after a relaunch with a clock that was set back`() throws {
        var state = StoredState()
        let before = state.clock.observe(.at(100))
        var relaunched = try #require(StoredState(state.bytes))
        #expect(relaunched.clock.observe(.at(200, ahead: -5000, boot: "boot-2")) > before)
    }

    @Test(arguments: [3600.0, -3600]) func `The registry's time corrects a wrong clock`(ahead: Double) {
        var clock = ObservationClock()
        _ = clock.observe(.at(0, ahead: ahead))
        #expect(clock.correct(by: .at(10), at: .at(10, ahead: ahead), elapsed: .zero) == .seconds(-ahead))
        clock.moved(latest: nil)
        #expect(clock.observe(.at(20, ahead: ahead)) == .at(20))
    }

    @Test func `Slow responses and the whole seconds of Date correct nothing`() {
        var clock = ObservationClock()
        #expect(clock.correct(by: .at(0), at: .at(30), elapsed: .seconds(29)) == nil)
        #expect(clock.correct(by: .at(29), at: .at(30), elapsed: .zero) == nil)
        #expect(clock.offset == .zero)
    }

    @Test func `The monotonic clock reveals a set wall clock, and a confirmed clock continues unchanged`() {
        var clock = ObservationClock()
        #expect(clock.notice(.at(0)) == nil)
        #expect(clock.correct(by: .at(0), at: .at(0), elapsed: .zero) == nil)
        #expect(clock.notice(.at(60, ahead: -7200)) == nil)
        #expect(clock.observe(.at(60, ahead: -7200)) == .at(60))
    }

    @Test func `A jump of an unconfirmed clock moves the times of unsent reports`() {
        var clock = ObservationClock()
        #expect(clock.notice(.at(0, ahead: -50_000)) == nil)
        #expect(clock.notice(.at(60)) == .seconds(50_000))
    }

    @Test func `Without a boot name no jump is detected, because the device may have restarted`() {
        var clock = ObservationClock()
        _ = clock.notice(.at(0, boot: ""))
        #expect(clock.notice(.at(60, ahead: 50_000, boot: "")) == nil)
    }

    @Test func `Sleep and a restart of the phone do not count as jumps`() {
        var clock = ObservationClock()
        _ = clock.notice(.at(0))
        #expect(clock.notice(.at(30_000)) == nil)
        let restarted = DeviceTime(wall: .at(30_100), uptime: .seconds(5), boot: "boot-2")
        #expect(clock.notice(restarted) == nil)
    }

    @Test func `After the correction of a clock that was ahead, no time stays in the future`() {
        var clock = ObservationClock()
        clock.sends(clock.observe(.at(0, ahead: 86_400)))
        #expect(clock.observe(.at(10, boot: "boot-2")) > .at(86_400), "until the registry was heard")
        #expect(clock.correct(by: .at(10), at: .at(10), elapsed: .zero) == .zero)
        clock.moved(latest: nil)
        #expect(clock.observe(.at(400)) == .at(400), "nothing 5 minutes ahead was ever accepted")
    }

    @Test func `Sent times may have been accepted, unless they were unanswered and far ahead`() {
        for (unanswered, present, floor) in [([9000], 5, 10), ([100, 9000], 200, 100)] as [([Double], Double, Double)] {
            var clock = ObservationClock()
            clock.sends(.at(10))
            clock.wasAnswered(.at(10))
            for time in unanswered { clock.sends(.at(time)) }
            _ = clock.correct(by: .at(present), at: .at(present, ahead: 9000), elapsed: .zero)
            #expect(clock.floor == .at(floor))
        }
    }

    @Test func `New observations stay later than times that may have been accepted`() {
        var clock = ObservationClock()
        clock.sends(clock.observe(.at(0, ahead: 200)))
        _ = clock.correct(by: .at(1), at: .at(1, ahead: 200), elapsed: .zero)
        clock.moved(latest: nil)
        #expect(clock.observe(.at(2, ahead: 200)) == Timestamp.at(200).next)
    }

    @Test func `C21: a time is still corrected after an attempt that did not leave the phone`() {
        var clock = ObservationClock()
        clock.sends(.at(1))
        clock.sends(.at(2))
        let isFree = clock.didNotSend(.at(2))
        #expect(isFree)
        #expect(clock.floor == .at(1))
    }

    @Test func `C21: a time that an earlier attempt may have delivered stays, also after a relaunch`() throws {
        var clock = ObservationClock()
        clock.sends(.at(1))
        var state = StoredState()
        state.clock = clock
        var relaunched = try #require(StoredState(state.bytes)).clock
        clock.sends(.at(1))
        relaunched.sends(.at(1))
        let areFree = [clock.didNotSend(.at(1)), relaunched.didNotSend(.at(1))]
        #expect(areFree == [false, false])
        #expect(clock.floor == .at(1))
    }

    @Test func `C21: all corrections since the request move a refused time and its start`() {
        var registration = ActivityRegistration(activityID: "a-1", token: PushToken(hex: "aa"))
        registration.startedAt = .at(5)
        played.add(.registration(registration), at: 10)
        for shift in [80_000.0, 10_000] {
            _ = played.outbox.move(by: .seconds(shift), after: .at(10), until: .at(100_000))
        }
        #expect(played.outbox.entries.map(\.observedAt) == [.at(10)], "it may have been accepted")
        let id = played.outbox.entries.first?.id
        _ = played.outbox.move(by: .zero, after: .at(10), until: .at(100_000), notAccepted: id)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(90_010)])
        #expect(played.outbox.entries.first?.report.registration?.startedAt == .at(90_005))
    }

    @Test func `C21: a merged registration takes its start from the corrected earlier time`() {
        played.add(.token("aa"), at: 10)
        _ = played.outbox.move(by: .seconds(90_000), after: .at(10), until: .at(90_010))
        played.add(.token("bb"), at: 90_020)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(90_020)])
        #expect(played.outbox.entries.first?.report.registration?.startedAt == .at(90_010))
    }

    @Test(arguments: [10.0, 30]) func `C21: a start stays later than the log-out before it`(_ floor: Double) throws {
        played.add(.logOut, at: 20)
        played.add(.token("aa"), at: 20.001)
        _ = played.outbox.move(by: .seconds(-100), after: .at(100), until: .at(1000))
        played.add(.token("bb"), at: 100)
        _ = played.outbox.move(by: .seconds(-15), after: .at(floor), until: .at(1000))
        let start = try #require(played.outbox.entries.last?.report.registration?.startedAt)
        let logOut = try #require(played.outbox.entries.first { $0.report == .logOut })
        #expect(logOut.observedAt == .at(floor == 10 ? 10.001 : 20) && logOut.observedAt < start)
    }

    @Test func `Moving times keeps the order, skips possibly accepted reports and stops at the present`() {
        played.add(.token("aa", of: "a-1"), at: 10)
        played.add(.token("bb", of: "a-2"), at: 20)
        played.add(.token("cc", of: "a-3"), at: 20.001)
        played.add(.token("dd", of: "a-4"), at: 900)
        let latest = played.outbox.move(by: .seconds(-15), after: .at(12), until: .at(40))
        #expect(played.outbox.entries.map(\.observedAt) == [.at(10), .at(12.001), .at(12.002), .at(40)])
        #expect(latest == .at(40))
    }
}

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
