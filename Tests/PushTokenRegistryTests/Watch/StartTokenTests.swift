import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

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
        #expect(await watched.next().report == .installationToken(.widget, nil))
    }

    @Test func `C4: a switch that the stream does not deliver is noticed at the foreground`() async {
        let watched = await WatchedPhone.settled(Self.phone(with: "s1"), tokens: 1)
        watched.phone.setSwitchSilently(on: false)
        watched.phone.enterForeground()
        #expect(await watched.next().report.startToken == "-")
    }
}
