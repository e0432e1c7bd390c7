import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C1, C2: all that the phone says is heard, and once.
@Suite(.timeLimit(.minutes(1))) struct SubscribingTests {
    @Test func `C1: start subscribes to everything before it returns, on a phone that is locked too`() {
        let (phone, type) = (FakePhone(), FakeType())
        let activity = FakeActivity("a-1")
        type.lists(activity)
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

    @Test("C1: a second start changes nothing") func secondStart() {
        let watched = WatchedPhone.launched()
        watched.watch.start()
        #expect(watched.type.newStreams.listeners == 1)
    }

    @Test("C1: a type that is followed after the start is subscribed to at once") func lateFollow() async {
        let watched = WatchedPhone.launched()
        let match = FakeType("Match")
        watched.watch.follow(match.followed)
        #expect(match.newStreams.listeners == 1)
        match.begins(FakeActivity("m-1", token: "aa"))
        #expect(await watched.next().report.registered == "m-1 aa")
    }

    @Test("C2: a token that only the property has is registered") func tokenOfTheProperty() async {
        let type = FakeType()
        type.lists(FakeActivity("a-1", token: "aa"))
        let watched = WatchedPhone.launched(type)
        #expect(await watched.next().report.registered == "a-1 aa")
    }

    @Test("C2: a token that only the stream has is registered") func tokenOfTheStream() async {
        let type = FakeType()
        let activity = FakeActivity("a-1")
        type.lists(activity)
        let watched = WatchedPhone.launched(type)
        activity.says("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
    }

    @Test("C2: a token that comes by both is registered once, and a rotation once more") func tokenOfBoth() async {
        let type = FakeType()
        let activity = FakeActivity("a-1", token: "aa")
        type.lists(activity)
        let watched = WatchedPhone.launched(type)
        #expect(await watched.next().report.registered == "a-1 aa")
        activity.says("aa")
        activity.gets("bb")
        #expect(await watched.next().report.registered == "a-1 bb")
    }

    @Test("C2: an activity that only the stream has is followed: it was started by push while the list lags")
    func activityOfTheStream() async {
        let watched = WatchedPhone.launched()
        let activity = FakeActivity("a-1")
        watched.type.newStreams.send(activity)
        while activity.tokenStreams.listeners == 0 { await pause() }
        activity.says("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
    }

    @Test("C2: an activity that only the list has is found at the foreground") func activityOfTheList() async {
        let watched = await WatchedPhone.settled()
        watched.type.lists(FakeActivity("a-1", token: "aa"))
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == ["a-1"])
        #expect(await watched.next().report.registered == "a-1 aa")
    }

    @Test("C2: an activity in the list and in the stream is followed once") func activityOfBoth() async {
        let type = FakeType()
        let activity = FakeActivity("a-1", token: "aa")
        type.lists(activity)
        let watched = WatchedPhone.launched(type)
        type.newStreams.send(activity)
        type.begins(FakeActivity("a-2", token: "bb"))
        let told = [await watched.next().report.registered, await watched.next().report.registered]
        #expect(Set(told) == ["a-1 aa", "a-2 bb"])
        while activity.tokenStreams.listeners > 1 { await pause() }
        activity.says("cc")
        #expect(await watched.next().report.registered == "a-1 cc")
    }

    @Test("A registration has the activity's names, its type, its schedule and the switch for frequent pushes")
    func theWholeRegistration() async {
        let type = FakeType()
        let kickOff = Timestamp.at(3600)
        type.lists(FakeActivity("a-1", "order-1", phase: .pending, token: "aa", startsAt: kickOff.date))
        guard case .registration(let registration) = await WatchedPhone.launched(type).next().report else {
            Issue.record("no registration")
            return
        }
        #expect(registration.attributesType == "Delivery")
        #expect(registration.aliases == ["liveactivityId": ["order-1"]])
        #expect(registration.startsAt == kickOff)
        #expect(registration.frequentPushesEnabled == true)
    }

    @Test("A token is told at each launch, for it may never have arrived") func eachLaunch() async {
        let type = FakeType()
        type.lists(FakeActivity("a-1", token: "aa"))
        let watched = WatchedPhone.launched(type)
        _ = await watched.next()
        #expect(await watched.relaunched().next().report.registered == "a-1 aa")
    }
}
