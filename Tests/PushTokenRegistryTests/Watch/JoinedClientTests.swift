import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

@Suite(.timeLimit(.minutes(1))) struct JoinedClientTests {
    @Test func `C3: a start token that changed silently is reported with the next report`() async {
        let app = App()
        app.start()
        await app.settle()
        app.type.setStartToken("s1")
        app.registry.register(deviceToken: Data([1]))
        let calls = await app.transport.next(2)
        #expect(
            calls.map(\.path) == [
                "PUT /installations/i-1/start-tokens/Delivery", "PUT /installations/i-1/tokens/device",
            ]
        )
    }

    @Test(arguments: [ActivityPhase.active, .pending])
    func `C13: a running or scheduled activity with 410 activity-expired is observed again`(phase: ActivityPhase)
        async
    {
        let app = App()
        app.type.addToList(FakeActivity("a-1", phase: phase, token: "aa"))
        app.start()
        let call = await app.transport.next()
        app.clock.advance(by: 0.5)
        call.answer(.problem(410, "activity-expired"))
        let again = await app.transport.next()
        #expect(again.path == "PUT /activities/a-1")
        #expect(again.observedAt == .at(0.5))
    }

    @Test(arguments: [true, false])
    func `A log-out ends shown and scheduled activities, unless the app turns that off`(isOn: Bool) async {
        let app = App { $0.endsActivitiesOnSignOut = isOn }
        app.start()
        await app.settle()
        let activities = [FakeActivity("a-1", "o-1", token: "aa"), FakeActivity("a-2", "o-2", phase: .pending)]
        for activity in activities { app.type.begin(activity) }
        await app.transport.next().answer(.registered)
        while activities[1].phaseStreams.listeners == 0 { await pause() }
        async let isConfirmed = app.registry.signOut()
        let calls = await app.transport.next(3)
        #expect(
            calls.map(\.path) == [
                "DELETE /activities/a-1", "DELETE /activities/a-2", "DELETE /installations/i-1",
            ]
        )
        #expect(calls[0]["reason"] == "ended")
        for call in calls { call.answer(.ours(204)) }
        #expect(await isConfirmed)
        while isOn && activities.contains(where: { $0.phase != .dismissed }) { await pause() }
        #expect(activities.map(\.phase) == (isOn ? [.dismissed, .dismissed] : [.active, .pending]))
        app.registry.register(deviceToken: Data([1]))
        #expect(await app.transport.next().path == "PUT /installations/i-1/tokens/device", "no end is sent again")
    }

    @Test func `The next user's sign-in ends the former user's activities on the screen`() async {
        let app = App()
        app.start()
        await app.settle()
        app.registry.signIn(userID: "u-7") { "jwt" }
        await app.transport.next().answer(.ours(200, #"{"installation": "ab"}"#))
        let activity = FakeActivity("a-1", token: "aa")
        app.type.begin(activity)
        await app.transport.next().answer(.registered)
        app.registry.signIn(userID: "u-7") { "jwt" }
        await app.transport.next().answer(.ours(200, #"{"installation": "ab"}"#))
        #expect(activity.phase == .active, "the same user stays")
        app.registry.signIn(userID: "u-8") { "jwt-8" }
        while activity.phase != .dismissed { await pause() }
    }

    @Test func `The stream of registration states starts with the current state and ends with the activity`() async {
        let app = App()
        app.start()
        await app.settle()
        let activity = FakeActivity("a-1")
        app.type.begin(activity)
        var states = app.registry.registration(of: "a-1").makeAsyncIterator()
        #expect(await states.next() == .waitingForToken)
        while activity.tokenStreams.listeners == 0 { await pause() }
        activity.deliverToken("aa")
        #expect(await states.next() == .pending)
        await app.transport.next().answer(.problem(403, "alias-not-allowed"))
        #expect(await states.next() == .refused(.aliasNotAllowed))
        activity.deliverToken("bb")
        #expect(await states.next() == .pending)
        await app.transport.next().answer(.registered)
        #expect(await states.next() == .registered)
        var late = app.registry.registration(of: "a-1").makeAsyncIterator()
        #expect(await late.next() == .registered)
        activity.change(to: .ended)
        #expect(await states.next() == .ended)
        #expect(await states.next() == nil)
    }

    @Test func `Without keys in Info.plist the shared client is nil`() {
        #expect(LiveActivityRegistry.shared == nil)
    }

    private struct App {
        let phone = FakePhone()
        let type = FakeType()
        let transport = TestTransport()
        let clock = TestClock()
        let registry: LiveActivityRegistry

        init(_ configure: (inout LiveActivityRegistry.Configuration) -> Void = { _ in }) {
            var configuration = LiveActivityRegistry.Configuration.test(transport: transport, clock: clock)
            configure(&configuration)
            registry = LiveActivityRegistry(configuration)
        }

        func start() {
            registry.follow(type, on: phone)
            registry.activate()
        }

        /// Returns once the first list is reported and all reports are answered.
        func settle() async {
            clock.advance(by: 10)
            await transport.next().answer(.ours(200, #"{"results": []}"#))
            while registry.status.waiting > 0 { await pause() }
        }
    }
}
