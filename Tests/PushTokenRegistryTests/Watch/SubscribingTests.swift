import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// C1, C2: each fact from ActivityKit is reported once.
@Suite(.timeLimit(.minutes(1))) struct SubscribingTests {
    @Test func `C1: start subscribes to everything before it returns, even on a locked phone`() {
        let (phone, type) = (FakePhone(), FakeType())
        let activity = FakeActivity("a-1")
        type.addToList(activity)
        phone.lock()
        let watched = WatchedPhone(phone: phone, type: type)
        #expect(type.newStreams.listeners == 0)
        watched.watch.start()
        #expect(type.newStreams.listeners == 1)
        #expect(type.startTokenStreams.listeners == 1)
        #expect(phone.switchStreams.listeners == 1)
        #expect(phone.transitionStreams.listeners == 1)
        #expect(activity.tokenStreams.listeners == 1)
        #expect(activity.phaseStreams.listeners == 1)
    }

    @Test func `C1: a second start changes nothing`() {
        let watched = WatchedPhone.launched()
        watched.watch.start()
        #expect(watched.type.newStreams.listeners == 1)
    }

    @Test func `C1: following a type after the start subscribes at once`() async {
        let watched = WatchedPhone.launched()
        let match = FakeType("Match")
        watched.watch.follow(match)
        #expect(match.newStreams.listeners == 1)
        match.begin(FakeActivity("m-1", token: "aa"))
        #expect(await watched.next().report.registered == "m-1 aa")
    }

    @Test func `C2: a token from property and stream is registered once, and a rotation once more`() async {
        let type = FakeType()
        let activity = FakeActivity("a-1", token: "aa")
        type.addToList(activity)
        let watched = WatchedPhone.launched(type)
        #expect(await watched.next().report.registered == "a-1 aa")
        activity.streamToken("aa")
        activity.deliverToken("bb")
        #expect(await watched.next().report.registered == "a-1 bb")
    }

    @Test func `C2: an activity that only the stream delivers is followed, as after a start push`() async {
        let watched = WatchedPhone.launched()
        let activity = FakeActivity("a-1")
        watched.type.newStreams.send(activity)
        while activity.tokenStreams.listeners == 0 { await pause() }
        activity.streamToken("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
    }

    @Test func `C2: an activity that only the list has is found at the foreground`() async {
        let watched = await WatchedPhone.settled()
        watched.type.addToList(FakeActivity("a-1", token: "aa"))
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == ["a-1"])
        #expect(await watched.next().report.registered == "a-1 aa")
    }

    @Test func `C2: an activity in the list and in the stream is followed once`() async {
        let type = FakeType()
        let activity = FakeActivity("a-1", token: "aa")
        type.addToList(activity)
        let watched = WatchedPhone.launched(type)
        type.newStreams.send(activity)
        type.begin(FakeActivity("a-2", token: "bb"))
        let registered = [await watched.next().report.registered, await watched.next().report.registered]
        #expect(Set(registered) == ["a-1 aa", "a-2 bb"])
        while activity.tokenStreams.listeners > 1 { await pause() }
        activity.streamToken("cc")
        #expect(await watched.next().report.registered == "a-1 cc")
    }

    @Test func `A registration contains the aliases, type, schedule and frequent-pushes switch`() async {
        let type = FakeType()
        let kickOff = Timestamp.at(3600)
        type.addToList(FakeActivity("a-1", "order-1", phase: .pending, token: "aa", startsAt: kickOff.date))
        guard case .registration(let registration) = await WatchedPhone.launched(type).next().report else {
            Issue.record("no registration")
            return
        }
        #expect(registration.attributesType == "Delivery")
        #expect(registration.aliases == ["liveactivityId": ["order-1"]])
        #expect(registration.startsAt == kickOff)
        #expect(registration.frequentPushesEnabled == true)
    }
}

/// C3, C4: start tokens become stale silently, and users remove them.
@Suite(.timeLimit(.minutes(1))) struct StartTokenTests {
    private static func phone(with token: String) -> FakeType {
        let type = FakeType()
        type.setStartToken(token)
        return type
    }

    @Test func `C3: each new start token of the stream is reported once`() async {
        let watched = WatchedPhone.launched(Self.phone(with: "s1"))
        #expect(await watched.next().report.startToken == "s1")
        watched.type.streamStartToken("s1")
        watched.type.streamStartToken("s2")
        #expect(await watched.next().report.startToken == "s2")
    }

    @Test func `C3: the start token is read again 2 seconds after the launch`() async {
        let watched = WatchedPhone.launched()
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.listed == [])
        watched.type.setStartToken("late")
        watched.clock.advance(by: 1)
        let observed = await watched.next()
        #expect(observed.report.startToken == "late")
        #expect(observed.seconds == 2)
    }

    @Test func `C3: the start token is read again at each foreground`() async {
        let watched = await WatchedPhone.settled()
        watched.type.setStartToken("s1")
        watched.phone.enterForeground()
        #expect(await watched.next().report.startToken == "s1")
        #expect(await watched.next().report.listed == [])
        watched.type.setStartToken("s2")
        watched.phone.enterForeground()
        #expect(await watched.next().report.startToken == "s2")
    }

    @Test func `C3: an unchanged start token is confirmed after 24 hours, not earlier`() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.clock.advance(by: 86_000)
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        watched.clock.advance(by: 400)
        #expect(await watched.next().report.startToken == "s1")
        watched.clock.advance(by: 86_400)
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test func `C4: switching activities off removes the start tokens, and switching on reports them again`() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.phone.setSwitch(on: false)
        #expect(await watched.next().report == .startToken(attributesType: "Delivery", nil))
        watched.type.streamStartToken("s2")
        watched.phone.setSwitch(on: true)
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test func `C4: a switch that moved while no app ran is noticed at launch and reported once`() async {
        let phone = FakePhone()
        phone.setSwitchSilently(on: false)
        let watched = WatchedPhone.launched(Self.phone(with: "s1"), phone: phone)
        #expect(await watched.next().report.startToken == "-")
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.listed == [])
        phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        phone.setSwitch(on: true)
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test func `The widget token is read at launch and each foreground, and removed with the last widget`() async {
        let phone = FakePhone()
        phone.setWidgetToken(Data("w1".utf8))
        let watched = WatchedPhone.launched(phone: phone)
        #expect(await watched.next().report == .installationToken(.widget, PushToken(Data("w1".utf8))))
        watched.clock.advance(by: 10)
        #expect(await watched.next().report.listed == [])
        phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        phone.setWidgetToken(nil)
        phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        watched.clock.advance(by: 5)
        phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        #expect(await watched.next().report == .installationToken(.widget, nil))
    }

    @Test func `C4: a switch that the stream does not deliver is noticed at the foreground`() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.phone.setSwitchSilently(on: false)
        watched.phone.enterForeground()
        #expect(await watched.next().report.startToken == "-")
    }
}

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
        if case .fullState(let activities) = report { #expect(activities.map(\.pushType) == [nil, .channel]) }
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
        watched.type.newStreams.send(FakeActivity("a-1", token: "aa"))
        #expect(await watched.next().report.registered == "a-1 aa")
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == ["a-1"])
    }
}
