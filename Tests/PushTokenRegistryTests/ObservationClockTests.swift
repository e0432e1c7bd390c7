import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C15: later each time, and right by the registry's clock.
@Suite struct ObservationClockTests {
    @Test func `Each observation is later than the one before, when the clock stands or goes back too`() {
        var clock = ObservationClock()
        let times = [10.0, 10, 3, 10.0005, 11].map { clock.observe(.at($0)) }
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
        #expect(times.last == .at(11))
    }

    @Test("The order holds over a relaunch with a clock that was set back") func keptOverLaunches() throws {
        var state = StoredState()
        let before = state.clock.observe(.at(100))
        var relaunched = try #require(StoredState(state.bytes))
        #expect(relaunched.clock.observe(.at(200, ahead: -5000, boot: "boot-2")) > before)
    }

    @Test("A clock that is ahead is corrected by the registry's, from then on", arguments: [3600.0, -3600])
    func corrected(ahead: Double) {
        var clock = ObservationClock()
        _ = clock.observe(.at(0, ahead: ahead))
        #expect(clock.correct(by: .at(10), at: .at(10, ahead: ahead), elapsed: .zero) == .seconds(-ahead))
        clock.moved(latest: nil)
        #expect(clock.observe(.at(20, ahead: ahead)) == .at(20))
    }

    @Test("A slow answer and the whole seconds of Date correct nothing") func smallDifferences() {
        var clock = ObservationClock()
        #expect(clock.correct(by: .at(0), at: .at(30), elapsed: .seconds(29)) == nil)
        #expect(clock.correct(by: .at(29), at: .at(30), elapsed: .zero) == nil)
        #expect(clock.offset == .zero)
    }

    @Test func `A clock that is set is found by the monotonic one; one that the registry confirmed goes on unmoved`() {
        var clock = ObservationClock()
        #expect(clock.notice(.at(0)) == nil)
        #expect(clock.correct(by: .at(0), at: .at(0), elapsed: .zero) == nil)
        #expect(clock.notice(.at(60, ahead: -7200)) == nil)
        #expect(clock.observe(.at(60, ahead: -7200)) == .at(60))
    }

    @Test("A jump of a clock that nobody confirmed moves what was not sent") func jumpsOfAnUnconfirmedClock() {
        var clock = ObservationClock()
        #expect(clock.notice(.at(0, ahead: -50_000)) == nil)
        #expect(clock.notice(.at(60)) == .seconds(50_000))
    }

    @Test("Without a name of the start no clock is taken for set: it may be another start") func noNameOfTheStart() {
        var clock = ObservationClock()
        _ = clock.notice(.at(0, boot: ""))
        #expect(clock.notice(.at(60, ahead: 50_000, boot: "")) == nil)
    }

    @Test("A night asleep and a restart of the phone are no jump") func noJumps() {
        var clock = ObservationClock()
        _ = clock.notice(.at(0))
        #expect(clock.notice(.at(30_000)) == nil)
        let restarted = DeviceTime(wall: .at(30_100), uptime: .seconds(5), boot: "boot-2")
        #expect(clock.notice(restarted) == nil)
    }

    @Test func `After a clock was ahead, and is right again, no time stays in the future`() {
        var clock = ObservationClock()
        let early = clock.observe(.at(0, ahead: 86_400))
        clock.sends(early)
        #expect(clock.observe(.at(10, boot: "boot-2")) > .at(86_400), "until the registry was heard")
        #expect(clock.correct(by: .at(10), at: .at(10), elapsed: .zero) == .zero)
        clock.moved(latest: nil)
        #expect(clock.observe(.at(400)) == .at(400), "nothing 5 minutes ahead was ever accepted")
    }

    @Test("Of times far ahead none was accepted, but those that were answered") func timesFarAhead() {
        var clock = ObservationClock()
        clock.sends(.at(10))
        clock.wasAnswered(.at(10))
        clock.sends(.at(9000))
        _ = clock.correct(by: .at(5), at: .at(5), elapsed: .zero)
        #expect(clock.floor == .at(10))
    }

    @Test func `Of times that went out and were not answered, those may have been accepted that were not far ahead`() {
        var clock = ObservationClock()
        clock.sends(.at(10))
        clock.wasAnswered(.at(10))
        clock.sends(.at(100))
        clock.sends(.at(9000))
        _ = clock.correct(by: .at(200), at: .at(200, ahead: 9000), elapsed: .zero)
        #expect(clock.floor == .at(100))
    }

    @Test("What may have been accepted is never overtaken backwards") func nothingSentIsOvertaken() {
        var clock = ObservationClock()
        clock.sends(clock.observe(.at(0, ahead: 200)))
        _ = clock.correct(by: .at(1), at: .at(1, ahead: 200), elapsed: .zero)
        clock.moved(latest: nil)
        #expect(clock.observe(.at(2, ahead: 200)) == Timestamp.at(200).next)
    }

    @Test("C21: a try that did not leave the phone fixes no time") func didNotSend() {
        var clock = ObservationClock()
        clock.sends(.at(1))
        clock.sends(.at(2))
        let isFree = clock.didNotSend(.at(2))
        #expect(isFree)
        #expect(clock.floor == .at(1))
    }

    @Test("C21: a time of which an earlier try may have arrived stays fixed, over launches too")
    func earlierTryMayHaveArrived() throws {
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

    @Test("C21: a refused time is moved with its start, by all corrections since it went out") func refusedTimes() {
        let played = PlayedOutbox()
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

    @Test("C21: the start that a merged registration takes from an earlier one is by the corrected clock")
    func mergedStarts() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 10)
        _ = played.outbox.move(by: .seconds(90_000), after: .at(10), until: .at(90_010))
        played.add(.token("bb"), at: 90_020)
        #expect(played.outbox.entries.map(\.observedAt) == [.at(90_020)])
        #expect(played.outbox.entries.first?.report.registration?.startedAt == .at(90_010))
    }

    @Test("Moving keeps the order of reports, leaves those that may have been accepted, and ends at the present")
    func movingKeepsTheOrder() {
        let played = PlayedOutbox()
        played.add(.token("aa", of: "a-1"), at: 10)
        played.add(.token("bb", of: "a-2"), at: 20)
        played.add(.token("cc", of: "a-3"), at: 20.001)
        played.add(.token("dd", of: "a-4"), at: 900)
        let latest = played.outbox.move(by: .seconds(-15), after: .at(12), until: .at(40))
        #expect(played.outbox.entries.map(\.observedAt) == [.at(10), .at(12.001), .at(12.002), .at(40)])
        #expect(latest == .at(40))
    }
}
