import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C7: a list dismisses activities that it lacks, so it is reported only when it is reliable.
@Suite(.timeLimit(.minutes(1))) struct FullStateTests {
    @Test func `C7: the list is reported a second after the launch, because it is empty at first`() async {
        let watched = WatchedPhone.launched()
        watched.phone.enterForeground()
        watched.clock.advance(by: 0.9)
        watched.phone.enterForeground()
        watched.type.streamStartToken("s1")
        #expect(await watched.next().report.startToken == "s1")
        watched.type.addToList(FakeActivity("a-1", token: "aa"))
        watched.clock.advance(by: 0.1)
        let observed = await watched.next()
        #expect(observed.report.listed == ["a-1"])
        #expect(observed.seconds == 1)
    }

    @Test func `C7: the list is reported after the unlock, not while the phone is locked`() async {
        let (phone, type) = (FakePhone(), FakeType())
        phone.lock()
        let watched = WatchedPhone.launched(type, phone: phone)
        watched.clock.advance(by: 1)
        type.setStartToken("s1")
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.startToken == "s1")
        type.addToList(FakeActivity("a-1", token: "aa"))
        phone.unlock()
        #expect(await watched.next().report.listed == ["a-1"])
    }

    @Test func `C7: the list is reported at each foreground`() async {
        let watched = await WatchedPhone.settled()
        watched.type.addToList(FakeActivity("a-1"))
        for _ in 0..<2 {
            watched.phone.enterForeground()
            #expect(await watched.next().report.listed == ["a-1"])
        }
    }

    @Test func `C7: the list contains pending, active and stale activities only, without tokens`() async {
        let type = FakeType()
        let phases: [ActivityPhase] = [.pending, .active, .stale, .ended, .dismissed]
        for phase in phases { type.addToList(FakeActivity("\(phase)", phase: phase, token: "aa")) }
        let watched = WatchedPhone.launched(type)
        watched.clock.advance(by: 1)
        var observed = await watched.next()
        while !observed.report.isFullState { observed = await watched.next() }
        #expect(observed.report.listed == ["active", "pending", "stale"])
        guard case .fullState(let activities) = observed.report else { return }
        #expect(activities.allSatisfy { $0.token == nil && $0.attributesType == "Delivery" })
    }

    @Test func `C7: one list contains all types, and marks activities that have no token by design`() async {
        let watched = await WatchedPhone.settled()
        let match = FakeType("Match", pushType: .channel)
        match.addToList(FakeActivity("m-1"))
        watched.type.addToList(FakeActivity("a-1"))
        watched.watch.follow(match)
        watched.clock.advance(by: 1)
        let report = await watched.next().report
        #expect(report.listed == ["a-1", "m-1"])
        guard case .fullState(let activities) = report else { return }
        #expect(activities.map(\.pushType) == [nil, .channel])
    }

    @Test func `C7: the time of the list is taken before the list is read`() async {
        let watched = await WatchedPhone.settled()
        let before = Double((watched.clock.now().wall - .at(0)).milliseconds) / 1000
        watched.type.whileListing { watched.clock.advance(by: 5) }
        watched.phone.enterForeground()
        let observed = await watched.next()
        watched.type.whileListing(nil)
        #expect(observed.report.isFullState)
        #expect(observed.seconds == before)
    }

    @Test func `C7: an activity from the stream stays listed even if ActivityKit's list lacks it`() async {
        let watched = await WatchedPhone.settled()
        let activity = FakeActivity("a-1", token: "aa")
        watched.type.newStreams.send(activity)
        #expect(await watched.next().report.registered == "a-1 aa")
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == ["a-1"])
    }
}
