import RegistryClientTestSupport
import RegistryLiveActivities
import Testing

/// C19: the moments at which all that waits is handed to the system.
@Suite(.timeLimit(.minutes(1))) struct BackgroundTests {
    @Test("When the app goes to the background all is handed over at once") func goesToBackground() async {
        let watched = await WatchedPhone.settled()
        watched.phone.goesToBackground()
        while watched.handOvers.withLock({ $0 }) < 1 { await pause() }
    }

    @Test func `What goes out in the background is handed over after five seconds, once for all of it`() async {
        let watched = await WatchedPhone.settled()
        watched.phone.goesToBackground()
        while watched.handOvers.withLock({ $0 }) < 1 { await pause() }
        for _ in 0..<3 { watched.watch.reportsGoOut() }
        while watched.clock.sleepers(for: .seconds(5)) == 0 { await pause() }
        for _ in 0..<3 { await watched.watch.reportsWentOut() }
        #expect(watched.clock.sleepers(for: .seconds(5)) == 1)
        watched.clock.advance(by: 5)
        while watched.handOvers.withLock({ $0 }) < 2 { await pause() }
    }

    @Test("In the foreground nothing is handed over") func inTheForeground() async {
        let watched = await WatchedPhone.settled()
        await watched.watch.reportsWentOut()
        watched.phone.comesToForeground()
        while !(await watched.next().report.isFullState) {}
        await watched.watch.reportsWentOut()
        #expect(watched.handOvers.withLock { $0 } == 0)
    }
}
