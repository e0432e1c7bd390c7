import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C19: the background task that keeps the app awake, and the rest that the system sends.
@Suite(.timeLimit(.minutes(1))) struct BackgroundTests {
    private func released(_ watched: WatchedPhone) async {
        while watched.phone.backgroundTasks > 0 { await pause() }
        #expect(watched.uploads.withLock { $0 } >= 1)
    }

    /// The task would have ended by now.
    private func expectHeld(_ watched: WatchedPhone) async {
        for _ in 0..<200 { await Task.yield() }
        #expect(watched.phone.backgroundTasks > 0)
    }

    @Test func `With nothing to wait for the background task ends at once`() async {
        let watched = await WatchedPhone.settled()
        watched.phone.goesToBackground()
        await released(watched)
    }

    @Test func `The user starts an activity and locks the phone: the task is held until its first token`() async {
        let watched = await WatchedPhone.settled()
        let activity = FakeActivity("a-1")
        watched.type.begins(activity)
        while activity.tokenStreams.listeners == 0 { await pause() }
        watched.phone.goesToBackground()
        await expectHeld(watched)
        activity.gets("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
        await released(watched)
    }

    @Test func `The task is held until the outbox is idle`() async {
        let watched = await WatchedPhone.settled()
        watched.isIdle.withLock { $0 = false }
        watched.phone.goesToBackground()
        await expectHeld(watched)
        watched.isIdle.withLock { $0 = true }
        watched.watch.reportsSettled()
        await released(watched)
    }

    @Test func `The task ends after 25 seconds, and the system gets the rest`() async {
        let watched = await WatchedPhone.settled()
        watched.type.begins(FakeActivity("a-1"))
        watched.phone.goesToBackground()
        while watched.clock.sleepers(for: .seconds(25)) == 0 { await pause() }
        watched.clock.advance(by: 24)
        await expectHeld(watched)
        watched.clock.advance(by: 1)
        await released(watched)
    }

    @Test func `A start push wakes the app: one task is held from the activity without a token`() async {
        let watched = await WatchedPhone.settled()
        watched.phone.goesToBackground()
        await released(watched)
        let activities = [FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-2")]
        for activity in activities { watched.type.begins(activity) }
        while watched.phone.backgroundTasks == 0 { await pause() }
        await expectHeld(watched)
        activities[0].gets("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
        await expectHeld(watched)
        activities[1].gets("bb")
        await released(watched)
    }

    @Test func `Activities without a token by design hold no task`() async {
        let watched = await WatchedPhone.settled()
        let match = FakeType("Match")
        var type = match.followed
        type.pushType = .channel
        watched.watch.follow(type)
        match.begins(FakeActivity("m-1"))
        watched.phone.goesToBackground()
        await released(watched)
    }

    @Test func `In the foreground no task begins`() async {
        let watched = await WatchedPhone.settled()
        watched.type.begins(FakeActivity("a-1"))
        watched.watch.reportsGoOut()
        watched.phone.comesToForeground()
        while !(await watched.next().report.isFullState) {}
        #expect(watched.phone.backgroundTasks + watched.phone.endedTasks == 0)
    }
}
