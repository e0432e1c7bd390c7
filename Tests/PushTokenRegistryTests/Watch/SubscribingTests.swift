import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
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
