import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// C5, C6: ended is final, and a user's dismissal is told apart from an end.
@Suite(.timeLimit(.minutes(1))) struct EndTests {
    private static func end(_ isDismissal: Bool = false) -> Report { .end(activityID: "a-1", isDismissal: isDismissal) }

    @Test(
        "C5: an activity that is first seen over is never registered, and its end is told once",
        arguments: [ActivityPhase.ended, .dismissed]
    )
    func firstSeenOver(phase: ActivityPhase) async {
        let type = FakeType()
        let over = FakeActivity("a-1", phase: phase, token: "aa")
        type.lists(over)
        let watched = WatchedPhone.launched(type)
        #expect(await watched.next().report == Self.end())
        type.newStreams.send(over)
        over.gets("bb")
        watched.clock.advance(by: 10)
        #expect(await watched.next().report.listed == [])
        while over.tokenStreams.listeners > 0 { await pause() }
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
    }

    @Test("C6: what ends, and is dismissed afterwards, has ended") func endThenDismissal() async {
        let (watched, activity) = await Self.running()
        activity.changes(to: .ended)
        #expect(await watched.next().report == Self.end())
        activity.changes(to: .dismissed)
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
    }

    @Test(arguments: [ActivityPhase.pending, .active, .stale])
    func `C6: what is dismissed without an end before was dismissed by the user`(from phase: ActivityPhase) async {
        let (watched, activity) = await Self.running(phase)
        activity.changes(to: .dismissed)
        #expect(await watched.next().report == Self.end(true))
    }

    @Test("C6: what the app itself ends at once was not dismissed by the user") func localEnd() async {
        let (watched, activity) = await Self.running()
        await watched.watch.endsHere("a-1")
        await activity.end()
        #expect(await watched.next().report == Self.end())
    }

    @Test func `C6: after its end nothing of an activity is listened to, and its tokens are not told`() async {
        let (watched, activity) = await Self.running()
        activity.changes(to: .ended)
        #expect(await watched.next().report == Self.end())
        while activity.tokenStreams.listeners + activity.phaseStreams.listeners > 0 { await pause() }
        // It stays listed, with a token (as ended ones do).
        activity.keeps("bb")
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
        watched.type.begins(FakeActivity("a-2", token: "cc"))
        #expect(await watched.next().report.registered == "a-2 cc")
    }

    @Test func `C2: an end that the stream does not say is seen at the foreground, by the property`() async {
        let (watched, activity) = await Self.running()
        watched.type.unlists("a-1")
        activity.becomes(.dismissed)
        watched.phone.comesToForeground()
        #expect(await watched.next().report.listed == [])
        #expect(await watched.next().report == Self.end(true))
    }

    @Test(arguments: [(true, 6.0), (true, 4), (false, 6)])
    func `C6: a dismissal while the user sees the app is not a swipe`(active: Bool, seconds: Double) async {
        let (watched, activity) = await Self.running()
        let registration = watched.clock
        watched.phone.becomes(active: true)
        if !active { watched.phone.becomes(active: false) }
        await watched.settleTransitions()
        registration.advance(by: seconds)
        activity.changes(to: .dismissed)
        #expect(await watched.next().report == Self.end(!(active && seconds > 5)))
    }

    @Test func `C6: iOS ends an activity after eight hours, and its dismissal is not the user's`() async {
        let (watched, activity) = await Self.running()
        watched.clock.advance(by: 8 * 3600)
        activity.changes(to: .dismissed)
        #expect(await watched.next().report == Self.end())
    }

    @Test("Stale is no end") func staleIsNoEnd() async {
        let (watched, activity) = await Self.running()
        activity.changes(to: .stale)
        activity.gets("bb")
        #expect(await watched.next().report.registered == "a-1 bb")
    }

    /// An app that follows an activity that runs, and has told all of it.
    static func running(_ phase: ActivityPhase = .active) async -> (WatchedPhone, FakeActivity) {
        let type = FakeType()
        let activity = FakeActivity("a-1", phase: phase, token: "aa")
        type.lists(activity)
        return (await WatchedPhone.settled(type, tokens: 1), activity)
    }
}
