import Foundation
import PushTokenRegistryTestSupport
import PushTokenRegistry
import Testing

/// Plays a day in a story.
///
/// It waits for the consequences of each event, so that a busy machine does not join two events into one request.
struct DayPlayer: Sendable {
    let story: Story
    private let activity = FakeActivity("4E1C0B6A-93D1-4C53-9F6B-0F3A2D7C5E81", "order-42")

    init(_ story: Story) { self.story = story }

    private var clock: TestClock { story.life.clock }
    private var costs: PhoneCosts { get async { await story.phone.app?.meter.costs ?? PhoneCosts() } }

    func costs(of day: Day) async throws -> PhoneCosts {
        try await prepare()
        if day == .wrongClock { await story.play(.restart, .clock(ahead: 3600), .unlock) }
        let end = clock.now().uptime + .seconds(24 * 3600)
        try await launch()
        try await live(3600)
        try await play(day)
        // An unchanged start token is confirmed after a day.
        try await awaitRequests(day.isDelivery ? 0 : 1) { try await live(until: end + .seconds(60)) }
        return await costs
    }

    /// The day before: registers everything on the phone.
    private func prepare() async throws {
        try await awaitRequests { await story.phone.setDeviceToken(Self.token("d", 32)) }
        try await startTokenComes("s1")
        await story.play(.kill)
    }

    private func launch() async throws {
        try await awaitRequests(3) { await story.play(.launch(listIsLate: false)) }
        for wakeUps in 1...2 {
            try await until { clock.sleepers == 1 }
            clock.advance(by: 1.001)
            try await until { await costs.wakeUps == wakeUps }
            try await until { await costs.requests.count >= 4 }
        }
        await story.phone.rest()
    }

    private func play(_ day: Day) async throws {
        switch day {
        case .idle: break
        case .opened: for _ in 0..<10 { try await open() }
        case .delivery, .wrongClock: try await deliver()
        case .storm: try await storm()
        case .offline: try await deliverOffline()
        }
    }
}

// MARK: - Events

extension DayPlayer {
    private func open() async throws {
        try await awaitRequests { await story.play(.foreground) }
        try await live(3600)
    }

    /// A push starts the activity, so iOS delivers another start token. The token changes six times, then the user
    /// swipes.
    private func deliver() async throws {
        try await begin()
        try await startTokenComes("s2")
        for number in 1...6 {
            try await live(600)
            try await rotate(number)
        }
        activity.change(to: .stale)
        try await live(300)
        activity.change(to: .active)
        try await live(300)
        try await awaitRequests { activity.change(to: .dismissed) }
        if story.life.network.isOnline { try await story.knows(activity, as: "ended") }
    }

    private func deliverOffline() async throws {
        let end = clock.now().uptime + .seconds(6 * 3600)
        await story.play(.network(.offline))
        try await live(3600)
        try await deliver()
        try await live(until: end)
        await story.play(.network(.online))
        try await live(600)
        try await story.knows(activity, as: "ended")
    }

    private func storm() async throws {
        try await begin()
        for number in 1...1000 {
            try await live(3.6)
            try await rotate(number)
        }
        try await story.handsOut(activity)
    }

    private func begin() async throws {
        await story.phone.types[0].begin(activity)
        try await until { activity.tokenStreams.listeners > 0 }
        try await live(1)
        try await rotate(0)
    }

    private func rotate(_ number: Int) async throws {
        try await awaitRequests { activity.deliverToken(Self.token("t\(number)", 80)) }
    }

    private func startTokenComes(_ name: String) async throws {
        let (type, token) = (await story.phone.types[0], Self.token(name, 80))
        try await awaitRequests {
            type.setStartToken(token)
            type.streamStartToken(token)
        }
    }

    private static func token(_ name: String, _ length: Int) -> String {
        name + String(repeating: "-", count: length - name.utf8.count)
    }
}

// MARK: - Time

extension DayPlayer {
    private func awaitRequests(_ count: Int = 1, _ body: () async throws -> Void) async throws {
        let before = await costs.requests.count
        try await body()
        try await until { await costs.requests.count >= before + count }
        await story.phone.rest()
    }

    private func live(_ seconds: Double) async throws {
        try await live(until: clock.now().uptime + .seconds(seconds))
    }

    /// Advances the clock from timer to timer, so that each fires when it is due.
    private func live(until end: Duration) async throws {
        await story.phone.rest()
        while let next = clock.nextWaking, next < end {
            let before = await costs
            clock.advance(by: seconds(to: next) + 0.001)
            try await until { await costs.wakeUps > before.wakeUps }
            // Without a network every timer is the end of a pause.
            if !story.life.network.isOnline {
                try await until { await costs.requests.count > before.requests.count }
            }
            await story.phone.rest()
        }
        clock.advance(by: seconds(to: end))
        await story.phone.rest()
    }

    private func seconds(to uptime: Duration) -> Double { max(0, (uptime - clock.now().uptime) / .seconds(1)) }

    /// Waits for a condition, with a limit that is long enough for a busy machine.
    private func until(_ condition: () async -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while !(await condition()) {
            guard ContinuousClock.now < end else {
                throw UnexpectedAnswer("a day's event led to nothing: \(story.life.network.diary.text.suffix(1500))")
            }
            await Task.yield()
        }
    }
}
