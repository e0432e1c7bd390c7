import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C19: the background task, and the reports that the system sends.
@Suite(.timeLimit(.minutes(1))) struct BackgroundTests {
    private func released(_ watched: WatchedPhone) async {
        while watched.phone.backgroundTasks > 0 { await pause() }
        #expect(watched.sink.uploads.withLock { $0 } >= 1)
    }

    /// Leaves the task enough time to end.
    private func expectHeld(_ watched: WatchedPhone) async {
        for _ in 0..<200 { await Task.yield() }
        #expect(watched.phone.backgroundTasks > 0)
    }

    @Test func `The background task ends at once if no token or report is pending`() async {
        let watched = await WatchedPhone.settled()
        watched.phone.enterBackground()
        await released(watched)
    }

    @Test func `The background task lasts until a new activity has its first token`() async {
        let watched = await WatchedPhone.settled()
        let activity = FakeActivity("a-1")
        watched.type.begin(activity)
        while activity.tokenStreams.listeners == 0 { await pause() }
        watched.phone.enterBackground()
        await expectHeld(watched)
        activity.deliverToken("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
        await released(watched)
    }

    @Test func `The background task lasts until the outbox is idle`() async {
        let watched = await WatchedPhone.settled()
        watched.sink.isIdle.withLock { $0 = false }
        watched.phone.enterBackground()
        await expectHeld(watched)
        watched.sink.isIdle.withLock { $0 = true }
        watched.watch.checkWake()
        await released(watched)
    }

    @Test func `The background task ends after 25 seconds, and the system gets the waiting reports`() async {
        let watched = await WatchedPhone.settled()
        watched.type.begin(FakeActivity("a-1"))
        watched.phone.enterBackground()
        while watched.clock.nextWaking != watched.clock.now().uptime + ActivityWatch.longestWake { await pause() }
        watched.clock.advance(by: 24)
        await expectHeld(watched)
        watched.clock.advance(by: 1)
        await released(watched)
    }

    @Test func `After a start push, one background task lasts until all activities have tokens`() async {
        let watched = await WatchedPhone.settled()
        watched.phone.enterBackground()
        await released(watched)
        let activities = [FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-2")]
        for activity in activities { watched.type.begin(activity) }
        while watched.phone.backgroundTasks == 0 { await pause() }
        await expectHeld(watched)
        activities[0].deliverToken("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
        await expectHeld(watched)
        activities[1].deliverToken("bb")
        await released(watched)
    }

    @Test func `Activities without a token by design do not extend the background task`() async {
        let watched = await WatchedPhone.settled()
        let match = FakeType("Match", pushType: .channel)
        watched.watch.follow(match)
        match.begin(FakeActivity("m-1"))
        watched.phone.enterBackground()
        await released(watched)
    }

    @Test func `In the foreground no background task begins`() async {
        let watched = await WatchedPhone.settled()
        watched.type.begin(FakeActivity("a-1"))
        watched.watch.reportsGoOut()
        watched.phone.enterForeground()
        while !(await watched.next().report.isFullState) {}
        #expect(watched.phone.begunTasks == 0)
    }
}
