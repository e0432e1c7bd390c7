import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C8: a repeated start push makes two activities for one order.
@Suite(.timeLimit(.minutes(1))) struct DuplicateTests {
    @Test func `C8: the older of two activities with one liveactivityId ends once the newer has its token`() async {
        let watched = await WatchedPhone.settled()
        let (older, newer) = (FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-1"))
        watched.type.begin(older)
        await Self.laterOn(watched)
        watched.type.begin(newer)
        await Self.expectShown(older, in: watched)
        newer.deliverToken("bb")
        let reports = [await watched.next().report, await watched.next().report]
        #expect(reports.contains(.end(activityID: "a-1", isDismissal: false)))
        #expect(older.phase == .dismissed)
        #expect(newer.phase == .active)
    }

    @Test func `C8: activities with different liveactivityIds both stay`() async {
        let watched = await WatchedPhone.settled()
        let older = FakeActivity("a-1", "order-1")
        watched.type.begin(older)
        await Self.laterOn(watched)
        watched.type.begin(FakeActivity("a-2", "order-2", token: "bb"))
        #expect(await watched.next().report.registered == "a-2 bb")
        await Self.expectShown(older, in: watched)
    }

    @Test func `C8: the newest of three stays, even if the app is about to end it`() async {
        let watched = await WatchedPhone.settled()
        let activities = (1...3).map { FakeActivity("a-\($0)", "order-1", phase: .stale) }
        for activity in activities {
            watched.type.begin(activity)
            await Self.laterOn(watched)
        }
        await Self.expectShown(activities[0], in: watched)
        await watched.watch.endsHere("a-2")
        activities[2].deliverToken("cc")
        #expect(await watched.next().report.registered == "a-3 cc")
        #expect(await watched.next().report == .end(activityID: "a-1", isDismissal: false))
        await Self.expectShown(activities[1], in: watched)
    }

    @Test func `C8: the app can turn off the end of duplicates`() async {
        let type = FakeType(endsDuplicates: false)
        let watched = WatchedPhone(type: FakeType("Other"))
        watched.watch.follow(type)
        watched.watch.start()
        watched.clock.advance(by: 10)
        while !(await watched.next().report.isFullState) {}
        let older = FakeActivity("a-1", "order-1")
        type.begin(older)
        await Self.laterOn(watched)
        type.begin(FakeActivity("a-2", "order-1", token: "bb"))
        #expect(await watched.next().report.registered == "a-2 bb")
        await Self.expectShown(older, in: watched)
    }

    @Test func `C8: two activities found at launch both stay, because their order is unknown`() async {
        let type = FakeType()
        let (first, second) = (FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-1"))
        type.addToList(first)
        let watched = WatchedPhone.launched(type)
        type.begin(second)
        while second.phaseStreams.listeners == 0 { await pause() }
        await Self.expectShown(first, in: watched)
        await Self.expectShown(second, in: watched)
    }

    @Test func `C8: a scheduled activity ends the running one only once it starts`() async {
        let watched = await WatchedPhone.settled()
        let later = FakeActivity("a-1", "order-1", phase: .pending)
        let running = FakeActivity("a-2", "order-1", token: "bb")
        watched.type.begin(running)
        #expect(await watched.next().report.registered == "a-2 bb")
        watched.type.begin(later)
        while later.phaseStreams.listeners == 0 { await pause() }
        await Self.expectShown(running, in: watched)
        await Self.laterOn(watched)
        later.change(to: .active)
        later.deliverToken("cc")
        #expect(await watched.next().report.registered == "a-1 cc")
        #expect(await watched.next().report == .end(activityID: "a-2", isDismissal: false))
        #expect(later.phase == .active)
    }

    /// Returns a second after the watch has seen all listed activities.
    private static func laterOn(_ watched: WatchedPhone) async {
        await watched.settleTransitions()
        watched.clock.advance(by: 1)
    }

    /// Leaves the activity enough time to end.
    private static func expectShown(_ activity: FakeActivity, in watched: WatchedPhone) async {
        for _ in 0..<100 { await Task.yield() }
        watched.clock.advance(by: 2)
        watched.phone.enterForeground()
        var observed = await watched.next()
        while !observed.report.isFullState { observed = await watched.next() }
        #expect(observed.report.listed?.contains(activity.id) == true)
        #expect(activity.phase.runs)
    }
}
