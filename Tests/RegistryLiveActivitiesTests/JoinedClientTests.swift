import Foundation
import RegistryClientTestSupport
import RegistryLiveActivities
import Testing

/// The watch and the client together, up to the requests.
@Suite(.timeLimit(.minutes(1))) struct JoinedClientTests {
    @Test func `C3: a start token that went silently stale is found when something else goes out`() async {
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

    @Test("Info.plist's keys make the shared client, and their absence none") func infoPlist() {
        #expect(LiveActivityRegistry.shared == nil)
    }

    /// An app with the client, on a simulated phone.
    private struct App {
        let phone = FakePhone()
        let type = FakeType()
        let transport = TestTransport()
        let clock = TestClock()
        let registry: LiveActivityRegistry

        init() {
            let secrets = TestSecrets("i-1")
            registry = LiveActivityRegistry(.test(secrets: secrets, transport: transport, clock: clock))
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
