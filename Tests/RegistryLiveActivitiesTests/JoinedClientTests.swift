import Foundation
import RegistryClient
import RegistryClientTestSupport
import RegistryLiveActivities
import Testing

/// The watch and the client together, up to the requests.
@Suite(.timeLimit(.minutes(1))) struct JoinedClientTests {
    @Test("What the phone says goes out as requests, after follow and start") func requests() async {
        let app = App()
        app.type.lists(FakeActivity("a-1", token: "aa"))
        app.start()
        let call = await app.transport.next()
        #expect(call.path == "PUT /activities/a-1")
        #expect(call["token"] == "6161")
        #expect(call["attributesType"] == "Delivery")
    }

    @Test("C3: a start token that went silently stale is found when something else goes out")
    func staleStartToken() async {
        let app = App()
        app.start()
        await app.settle()
        app.type.keeps(startToken: "s1")
        app.registry.register(deviceToken: Data([1]))
        let calls = await app.transport.next(2)
        #expect(
            calls.map(\.path) == [
                "PUT /installations/i-1/start-tokens/Delivery", "PUT /installations/i-1/tokens/device",
            ]
        )
    }

    @Test(
        "C13: a running activity that the registry takes for expired is observed anew, a scheduled one too",
        arguments: [ActivityPhase.active, .pending]
    )
    func observedAnew(phase: ActivityPhase) async {
        let app = App()
        app.type.lists(FakeActivity("a-1", phase: phase, token: "aa"))
        app.start()
        let call = await app.transport.next()
        app.clock.advance(by: 0.5)
        call.answer(.problem(410, "activity-expired"))
        let again = await app.transport.next()
        #expect(again.path == "PUT /activities/a-1")
        #expect(again.observedAt == .at(0.5))
    }

    @Test("C13: an expired activity that ended here is not observed anew") func endedIsNotObservedAnew() async {
        let app = App()
        let activity = FakeActivity("a-1", token: "aa")
        app.type.lists(activity)
        app.start()
        let call = await app.transport.next()
        activity.becomes(.ended)
        call.answer(.problem(410, "activity-expired"))
        while app.registry.status.waiting > 0 { await pause() }
        #expect(app.storage.entries.isEmpty)
    }

    @Test("The foreground lets waiting reports go out at once") func foregroundSends() async {
        let app = App()
        app.registry.register(deviceToken: Data([1]))
        app.start()
        await app.transport.next().fail()
        await app.registry.caughtUp()
        app.phone.comesToForeground()
        #expect(await app.transport.next().path == "PUT /installations/i-1/tokens/device")
    }

    @Test("A prewarmed app on a locked phone keeps what it hears, and sends it after the unlock") func prewarm() async {
        let app = App()
        app.storage.lock()
        app.secrets.lock()
        app.phone.lock()
        let activity = FakeActivity("a-1", token: "aa")
        app.type.lists(activity)
        app.start()
        while app.registry.status.waiting == 0 { await pause() }
        app.clock.advance(by: 600)
        await app.registry.caughtUp()
        app.storage.unlock()
        app.secrets.unlock()
        app.phone.unlock()
        let calls = await app.transport.next(2)
        #expect(calls.map(\.path) == ["PUT /activities/a-1", "PUT /installations/i-1/activities"])
        #expect(calls[0].observedAt == .at(0))
    }

    @Test("Info.plist's keys make the shared client, and their absence none") func infoPlist() {
        #expect(LiveActivityRegistry.shared == nil)
    }

    /// An app with the client, on a simulated phone.
    private struct App {
        let phone = FakePhone()
        let type = FakeType()
        let storage = TestStorage()
        let secrets = TestSecrets("i-1")
        let transport = TestTransport()
        let clock = TestClock()
        let registry: LiveActivityRegistry

        init() {
            registry = LiveActivityRegistry(
                .test(storage: storage, secrets: secrets, transport: transport, clock: clock)
            )
        }

        func start() {
            registry.follow(type.followed, on: phone)
            registry.start()
        }

        /// The first list is told, and all is answered.
        func settle() async {
            clock.advance(by: 10)
            await transport.next().answer(.ours(200, #"{"results": []}"#))
            while registry.status.waiting > 0 { await pause() }
        }
    }
}
