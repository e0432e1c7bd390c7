import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C3, C4: start tokens go silently stale, and users take them back.
@Suite(.timeLimit(.minutes(1))) struct StartTokenTests {
    private static func phone(with token: String) -> FakeType {
        let type = FakeType()
        type.keeps(startToken: token)
        return type
    }

    @Test("C3: the start token is read at launch, though no stream says it") func atLaunch() async {
        let watched = WatchedPhone.launched(Self.phone(with: "s1"))
        let told = await watched.next()
        #expect(told.report == .startToken(attributesType: "Delivery", PushToken(Data("s1".utf8))))
    }

    @Test("C3: the stream's start token is told, once for the same value") func byTheStream() async {
        let watched = WatchedPhone.launched(Self.phone(with: "s1"))
        #expect(await watched.next().report.startToken == "s1")
        watched.type.says(startToken: "s1")
        watched.type.says(startToken: "s2")
        #expect(await watched.next().report.startToken == "s2")
    }

    @Test("C3: it is read again 2 seconds after the launch") func afterTwoSeconds() async {
        let watched = WatchedPhone.launched()
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.listed == [])
        watched.type.keeps(startToken: "late")
        watched.clock.advance(by: 1)
        let told = await watched.next()
        #expect(told.report.startToken == "late")
        #expect(told.seconds == 2)
    }

    @Test("C3: it is read again at each foreground") func atTheForeground() async {
        let watched = await WatchedPhone.settled()
        watched.type.keeps(startToken: "s1")
        watched.phone.comesToForeground()
        #expect(await watched.next().report.startToken == "s1")
        #expect(await watched.next().report.listed == [])
        watched.type.keeps(startToken: "s2")
        watched.phone.comesToForeground()
        #expect(await watched.next().report.startToken == "s2")
    }

    @Test("C3: it is read again when reports go out") func beforeUploads() async {
        let watched = await WatchedPhone.settled()
        watched.type.keeps(startToken: "s1")
        watched.watch.reportsGoOut()
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test("C3: the same start token is confirmed after 24 hours, and not before") func confirmedDaily() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.clock.advance(by: 86_000)
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
        watched.clock.advance(by: 400)
        #expect(await watched.next().report.startToken == "s1")
        watched.clock.advance(by: 86_400)
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test("C4: activities switched off take the start tokens of all followed types back, and on again tell them")
    func switchedOffAndOn() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.phone.switches(on: false)
        #expect(await watched.next().report == .startToken(attributesType: "Delivery", nil))
        watched.type.says(startToken: "s2")
        watched.phone.switches(on: true)
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test("C4: a switch that was moved while no app ran is seen at launch, and told once") func offAtLaunch() async {
        let phone = FakePhone()
        phone.keepsSwitch(on: false)
        let watched = WatchedPhone.launched(Self.phone(with: "s1"), phone: phone)
        #expect(await watched.next().report.startToken == "-")
        watched.clock.advance(by: 1)
        #expect(await watched.next().report.listed == [])
        phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
        phone.switches(on: true)
        #expect(await watched.next().report.startToken == "s1")
    }

    @Test func `The widgets' token is read at launch and at each foreground, and removed once no widget is left`() async
    {
        let phone = FakePhone()
        phone.gets(widgetToken: Data("w1".utf8))
        let watched = WatchedPhone.launched(phone: phone)
        #expect(await watched.next().report == .installationToken(.widget, PushToken(Data("w1".utf8))))
        watched.clock.advance(by: 10)
        #expect(await watched.next().report.listed == [])
        phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
        phone.gets(widgetToken: nil)
        phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
        #expect(await watched.next().report == .installationToken(.widget, nil))
    }

    @Test("C4: a switch that the stream says nothing of is seen at the foreground") func offByTheProperty() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.phone.keepsSwitch(on: false)
        watched.phone.comesToForeground()
        #expect(await watched.next().report.startToken == "-")
    }
}
