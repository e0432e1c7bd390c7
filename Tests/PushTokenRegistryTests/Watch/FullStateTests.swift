import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C7: a list of all that runs dismisses what it lacks, so it is told only when it can be believed.
@Suite(.timeLimit(.minutes(1))) struct FullStateTests {
    @Test func `C7: the list is told a second after the launch, for it is empty at first`() async {
        let watched = WatchedPhone.launched()
        watched.phone.comesToForeground()
        watched.clock.advance(by: 0.9)
        watched.phone.comesToForeground()
        watched.type.says(startToken: "s1")
        #expect(await watched.next().report.startToken == "s1")
        watched.type.lists(FakeActivity("a-1", token: "aa"))
        watched.clock.advance(by: 0.1)
        let told = await watched.next()
        #expect(told.report.listed == ["a-1"])
        #expect(told.seconds == 1)
    }

    @Test("C7: nothing is listed while the phone is locked, and all is once it is unlocked") func lockedPhone() async {
        let (phone, type) = (FakePhone(), FakeType())
        phone.lock()
        let watched = WatchedPhone.launched(type, phone: phone)
        watched.clock.advance(by: 1)
        type.keeps(startToken: "s1")
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.startToken == "s1")
        type.lists(FakeActivity("a-1", token: "aa"))
        phone.unlock()
        #expect(await watched.next().report.listed == ["a-1"])
    }

    @Test("C7: it is told at each foreground") func atTheForeground() async {
        let watched = await WatchedPhone.settled()
        watched.type.lists(FakeActivity("a-1"))
        for _ in 0..<2 {
            watched.phone.comesToForeground()
            #expect(await watched.next().report.listed == ["a-1"])
        }
    }

    @Test("C7: pending, active and stale ones are listed, without their tokens; ended and dismissed ones are not")
    func phases() async {
        let type = FakeType()
        let phases: [ActivityPhase] = [.pending, .active, .stale, .ended, .dismissed]
        for phase in phases { type.lists(FakeActivity("\(phase)", phase: phase, token: "aa")) }
        let watched = WatchedPhone.launched(type)
        watched.clock.advance(by: 1)
        var told = await watched.next()
        while !told.report.isFullState { told = await watched.next() }
        #expect(told.report.listed == ["active", "pending", "stale"])
        guard case .fullState(let activities) = told.report else { return }
        #expect(activities.allSatisfy { $0.token == nil && $0.attributesType == "Delivery" })
    }

    @Test func `An activity without a token by design is listed as such`() async {
        let watched = await WatchedPhone.settled()
        let match = FakeType("Match")
        match.lists(FakeActivity("m-1"))
        var type = match.followed
        type.pushType = .channel
        watched.watch.follow(type)
        watched.clock.advance(by: 1)
        guard case .fullState(let activities) = await watched.next().report else {
            Issue.record("no full state")
            return
        }
        #expect(activities.map(\.pushType) == [.channel])
    }

    @Test("C7: its time is that before the list was read") func timeBeforeTheList() async {
        let watched = await WatchedPhone.settled()
        let before = Double((watched.clock.now().wall - .at(0)).milliseconds) / 1000
        watched.type.whileListing { watched.clock.advance(by: 5) }
        watched.phone.comesToForeground()
        let told = await watched.next()
        watched.type.whileListing(nil)
        #expect(told.report.isFullState)
        #expect(told.seconds == before)
    }

    @Test("C7: all followed types are in one list") func allTypes() async {
        let watched = await WatchedPhone.settled()
        let match = FakeType("Match")
        match.lists(FakeActivity("m-1"))
        watched.type.lists(FakeActivity("a-1"))
        watched.watch.follow(match.followed)
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.listed == ["a-1", "m-1"])
    }

    @Test("C7: one that the stream has shown and the list lacks is not dismissed") func laggingList() async {
        let watched = await WatchedPhone.settled()
        let activity = FakeActivity("a-1", token: "aa")
        watched.type.newStreams.send(activity)
        #expect(await watched.next().report.registered == "a-1 aa")
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == ["a-1"])
    }

    @Test func `A swipe while the app was dead is seen at the next launch, as one that is no longer listed`() async {
        let (watched, _) = await EndTests.running()
        watched.type.unlists("a-1")
        let next = watched.relaunched()
        next.clock.advance(by: 1)
        #expect(await next.next().report.listed == [])
    }
}
