import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// C5, C6: an end is final and differs from the user's dismissal.
@Suite(.timeLimit(.minutes(1))) struct EndTests {
    private static func end(_ isDismissal: Bool = false) -> Report { .end(activityID: "a-1", isDismissal: isDismissal) }

    @Test(arguments: [ActivityPhase.ended, .dismissed])
    func `C5: an activity first seen over is not registered, and its end is reported once`(phase: ActivityPhase) async {
        let type = FakeType()
        let over = FakeActivity("a-1", phase: phase, token: "aa")
        type.addToList(over)
        let watched = WatchedPhone.launched(type)
        #expect(await watched.next().report == Self.end())
        type.newStreams.send(over)
        over.deliverToken("bb")
        watched.clock.advance(by: 10)
        #expect(await watched.next().report.listed == [])
        while over.tokenStreams.listeners > 0 { await pause() }
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == [])
    }

    @Test func `C6: an end stays an end after a later dismissal`() async {
        let (watched, activity) = await Self.running()
        activity.change(to: .ended)
        #expect(await watched.next().report == Self.end())
        activity.change(to: .dismissed)
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == [])
    }

    @Test(arguments: [ActivityPhase.pending, .active, .stale])
    func `C6: a dismissal without an earlier end is reported as the user's`(from phase: ActivityPhase) async {
        let (watched, activity) = await Self.running(phase)
        activity.change(to: .dismissed)
        #expect(await watched.next().report == Self.end(true))
    }

    @Test func `C6: an immediate end by the app is not reported as a dismissal`() async {
        let (watched, activity) = await Self.running()
        await watched.watch.endsHere("a-1")
        await activity.end()
        #expect(await watched.next().report == Self.end())
    }

    @Test func `C6: after an end the streams are released, and no token is reported`() async {
        let (watched, activity) = await Self.running()
        activity.change(to: .ended)
        #expect(await watched.next().report == Self.end())
        while activity.tokenStreams.listeners + activity.phaseStreams.listeners > 0 { await pause() }
        // Ended activities stay listed with a token.
        activity.setToken("bb")
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        watched.type.begin(FakeActivity("a-2", token: "cc"))
        #expect(await watched.next().report.registered == "a-2 cc")
    }

    @Test func `C2: at the foreground the property reveals an end that the stream missed`() async {
        let (watched, activity) = await Self.running()
        watched.type.removeFromList("a-1")
        activity.setPhase(.dismissed)
        watched.phone.enterForeground()
        #expect(await watched.next().report.listed == [])
        #expect(await watched.next().report == Self.end(true))
    }

    @Test(arguments: [(true, 6.0), (true, 4), (false, 6)])
    func `C6: a dismissal after 5 seconds in the active app is not a swipe`(active: Bool, seconds: Double) async {
        let (watched, activity) = await Self.running()
        watched.phone.setActive(true)
        if !active { watched.phone.setActive(false) }
        await watched.settleTransitions()
        watched.clock.advance(by: seconds)
        activity.change(to: .dismissed)
        #expect(await watched.next().report == Self.end(!(active && seconds > 5)))
    }

    @Test func `C6: a dismissal after 8 hours is not the user's, because iOS ended the activity`() async {
        let (watched, activity) = await Self.running()
        watched.clock.advance(by: 8 * 3600)
        activity.change(to: .dismissed)
        #expect(await watched.next().report == Self.end())
    }

    @Test func `A stale activity has not ended`() async {
        let (watched, activity) = await Self.running()
        activity.change(to: .stale)
        activity.deliverToken("bb")
        #expect(await watched.next().report.registered == "a-1 bb")
    }

    /// An app that follows one activity and has reported everything.
    static func running(_ phase: ActivityPhase = .active) async -> (WatchedPhone, FakeActivity) {
        let type = FakeType()
        let activity = FakeActivity("a-1", phase: phase, token: "aa")
        type.addToList(activity)
        return (await WatchedPhone.settled(type, tokens: 1), activity)
    }
}

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
