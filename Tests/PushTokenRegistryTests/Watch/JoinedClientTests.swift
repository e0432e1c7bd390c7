import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

@Suite(.timeLimit(.minutes(1))) struct JoinedClientTests {
    @Test func `C3: a start token that changed silently is reported with the next report`() async {
        let app = await TestPhone.settled()
        app.type.setStartToken("s1")
        app.registry.register(deviceToken: Data([1]))
        #expect(
            await app.transport.next(2).map(\.path) == [
                "PUT /installations/i-1/start-tokens/Delivery", "PUT /installations/i-1/tokens/device",
            ]
        )
    }

    @Test(arguments: [true, false])
    func `A log-out ends shown and scheduled activities, unless the app turns that off`(isOn: Bool) async {
        let app = await TestPhone.settled { $0.endsActivitiesOnSignOut = isOn }
        let activities = [FakeActivity("a-1", "o-1", token: "aa"), FakeActivity("a-2", "o-2", phase: .pending)]
        for activity in activities { app.type.begin(activity) }
        await app.answer(.registered)
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
        let app = await TestPhone.settled()
        app.registry.signIn(userID: "u-7") { "jwt" }
        await app.answer(.ours(200, #"{"installation": "ab"}"#))
        let activity = FakeActivity("a-1", token: "aa")
        app.type.begin(activity)
        await app.answer(.registered)
        app.registry.signIn(userID: "u-7") { "jwt" }
        await app.answer(.ours(200, #"{"installation": "ab"}"#))
        #expect(activity.phase == .active, "the same user stays")
        app.registry.signIn(userID: "u-8") { "jwt-8" }
        while activity.phase != .dismissed { await pause() }
    }

    @Test func `The stream of registration states starts with the current state and ends with the activity`() async {
        let app = await TestPhone.settled()
        let activity = FakeActivity("a-1")
        app.type.begin(activity)
        var states = app.registry.registration(of: "a-1").makeAsyncIterator()
        #expect(await states.next() == .waitingForToken)
        while activity.tokenStreams.listeners == 0 { await pause() }
        activity.deliverToken("aa")
        #expect(await states.next() == .pending)
        await app.answer(.problem(403, "alias-not-allowed"))
        #expect(await states.next() == .refused(.aliasNotAllowed))
        activity.deliverToken("bb")
        #expect(await states.next() == .pending)
        await app.answer(.registered)
        #expect(await states.next() == .registered)
        var late = app.registry.registration(of: "a-1").makeAsyncIterator()
        #expect(await late.next() == .registered)
        activity.change(to: .ended)
        #expect(await states.next() == .ended)
        #expect(await states.next() == nil)
    }
}

extension TestPhone {
    /// An app that follows a type, has reported its first list, and waits for no response.
    fileprivate static func settled(
        _ configure: (inout LiveActivityRegistry.Configuration) -> Void = { _ in }
    ) async -> TestPhone {
        let phone = TestPhone(configure)
        phone.registry.follow(phone.type, on: phone.system)
        phone.clock.advance(by: 10)
        await phone.answer(.ours(200, #"{"results": []}"#))
        while phone.registry.status.waiting > 0 { await pause() }
        return phone
    }
}
