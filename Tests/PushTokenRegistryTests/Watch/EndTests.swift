import PushTokenRegistryTestSupport
import PushTokenRegistry
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
