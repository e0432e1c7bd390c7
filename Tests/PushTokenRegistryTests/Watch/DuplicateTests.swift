import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C8: a start that a sender repeats makes two activities for one order.
@Suite(.timeLimit(.minutes(1))) struct DuplicateTests {
    @Test
    func `C8: of two activities with one liveactivityId the older ends when the newer has its token, and not before`()
        async
    {
        let watched = await WatchedPhone.settled()
        let (older, newer) = (FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-1"))
        watched.type.begins(older)
        watched.type.begins(newer)
        await Self.expectShown(older, in: watched)
        newer.gets("bb")
        let reports = [await watched.next().report, await watched.next().report]
        #expect(reports.contains(.end(activityID: "a-1", isDismissal: false)))
        #expect(older.phase == .dismissed)
        #expect(newer.phase == .active)
    }

    @Test("C8: those with other names are left alone") func otherNames() async {
        let watched = await WatchedPhone.settled()
        let older = FakeActivity("a-1", "order-1")
        watched.type.begins(older)
        watched.type.begins(FakeActivity("a-2", "order-2", token: "bb"))
        #expect(await watched.next().report.registered == "a-2 bb")
        await Self.expectShown(older, in: watched)
    }

    @Test("C8: it can be turned off") func turnedOff() async {
        let type = FakeType()
        let watched = WatchedPhone(type: FakeType("Other"))
        var followed = type.followed
        followed.endsDuplicates = false
        watched.watch.follow(followed)
        watched.watch.start()
        watched.clock.advance(by: 10)
        while !(await watched.next().report.isFullState) {}
        let older = FakeActivity("a-1", "order-1")
        type.begins(older)
        type.begins(FakeActivity("a-2", "order-1", token: "bb"))
        #expect(await watched.next().report.registered == "a-2 bb")
        await Self.expectShown(older, in: watched)
    }

    @Test("C8: two that run at launch both stay, for nobody knows which is the newer one") func twoAtLaunch() async {
        let type = FakeType()
        let (first, second) = (FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-1"))
        type.lists(first)
        let watched = WatchedPhone.launched(type)
        type.begins(second)
        while second.phaseStreams.listeners == 0 { await pause() }
        await Self.expectShown(first, in: watched)
        await Self.expectShown(second, in: watched)
    }

    @Test("C8: a scheduled one ends none that runs, until it starts itself") func scheduledOne() async {
        let watched = await WatchedPhone.settled()
        let later = FakeActivity("a-1", "order-1", phase: .pending)
        let running = FakeActivity("a-2", "order-1", token: "bb")
        watched.type.begins(running)
        #expect(await watched.next().report.registered == "a-2 bb")
        watched.type.begins(later)
        while later.phaseStreams.listeners == 0 { await pause() }
        await Self.expectShown(running, in: watched)
        later.changes(to: .active)
        later.gets("cc")
        #expect(await watched.next().report.registered == "a-1 cc")
        #expect(await watched.next().report == .end(activityID: "a-2", isDismissal: false))
        #expect(later.phase == .active)
    }

    /// It would have been ended by now: what is told next is not its end.
    private static func expectShown(_ activity: FakeActivity, in watched: WatchedPhone) async {
        for _ in 0..<100 { await Task.yield() }
        watched.clock.advance(by: 2)
        watched.phone.comesToForeground()
        var told = await watched.next()
        while !told.report.isFullState { told = await watched.next() }
        #expect(told.report.listed?.contains(activity.id) == true)
        #expect(activity.phase.runs)
    }
}
