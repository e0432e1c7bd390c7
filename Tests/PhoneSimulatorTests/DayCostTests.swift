import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DayCostTests {
    @Test(.story, arguments: Day.allCases) func `The costs of a day stay within its limits`(_ day: Day) async throws {
        let (costs, limits) = (try await DayPlayer().costs(of: day), day.limits)
        print("figure: a day of a phone, \(day.rawValue): \(costs)")
        #expect(limits.requests.contains(costs.requests.count), "\(story.life.network.diary.text)")
        #expect(limits.wakeUps.contains(costs.wakeUps))
        #expect(limits.writes.contains(costs.writes))
        let kilobytes = Double(costs.requestBytes) / 1000
        #expect(limits.kilobytes * 0.5...limits.kilobytes ~= kilobytes)
    }

    @Test(arguments: Day.allCases) func `The guide's table lists each day with its costs`(_ day: Day) throws {
        let guide = ProjectFiles.root.appendingPathComponent("Sources/WebAssets/Documentation.docc/ForAppDevelopers.md")
        let lines = try String(contentsOf: guide, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains(Substring(day.limits.row(of: day))))
    }
}

/// A day with counted costs: the app is launched once and stays in memory for 24 hours.
///
/// A user is signed in by JWT, the app has a device token, and one of its two attributes types has a start token.
/// Tokens have the length of real ones.
enum Day: String, Sendable, CaseIterable {
    case idle = "nothing happens"
    case opened = "the app is opened ten times"
    case delivery = "one delivery: a start by push, six rotations, a swipe"
    case wrongClock = "the same, by a clock that is an hour ahead since a restart"
    case offline = "the same, within 6 hours offline"
    case storm = "1,000 rotations of a token within an hour"

    /// A push starts an activity, so the start token changes.
    var isDelivery: Bool { [.delivery, .wrongClock, .offline].contains(self) }

    /// The limits of the day's costs. Only the pauses of a phone without responses are random.
    var limits: DayLimits {
        switch self {
        case .idle: DayLimits(requests: 5...5, wakeUps: 3...3, writes: 10...10, kilobytes: 4.2)
        case .opened: DayLimits(requests: 15...15, wakeUps: 3...3, writes: 30...30, kilobytes: 11.7)
        case .delivery: DayLimits(requests: 13...13, wakeUps: 3...3, writes: 26...26, kilobytes: 12.0)
        case .wrongClock: DayLimits(requests: 14...14, wakeUps: 3...3, writes: 27...27, kilobytes: 12.8)
        case .offline: DayLimits(requests: 80...130, wakeUps: 70...120, writes: 160...260, kilobytes: 110)
        case .storm: DayLimits(requests: 1006...1006, wakeUps: 3...3, writes: 2012...2012, kilobytes: 940)
        }
    }
}

struct DayLimits: Sendable {
    let requests: ClosedRange<Int>
    let wakeUps: ClosedRange<Int>
    let writes: ClosedRange<Int>
    /// At most, in thousands of bytes.
    let kilobytes: Double

    func row(of day: Day) -> String {
        let cells = [day.rawValue, Self.text(requests), "\(kilobytes)", Self.text(wakeUps), Self.text(writes)]
        return "| \(cells.joined(separator: " | ")) |"
    }

    private static func text(_ range: ClosedRange<Int>) -> String {
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }
}

/// Plays a day in a story.
///
/// It waits for the consequences of each event, so that a busy machine does not join two events into one request.
struct DayPlayer: Sendable {
    private let activity = FakeActivity("4E1C0B6A-93D1-4C53-9F6B-0F3A2D7C5E81", "order-42")

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

    private func open() async throws {
        try await awaitRequests { await story.play(.foreground) }
        try await live(3600)
    }

    /// A push starts the activity, so iOS delivers another start token. The token changes six times, then the user swipes.
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

    private func awaitRequests(_ count: Int = 1, _ body: () async throws -> Void) async throws {
        let before = await costs.requests.count
        try await body()
        try await until { await costs.requests.count >= before + count }
        await story.phone.rest()
    }

    private func live(_ seconds: Double) async throws { try await live(until: clock.now().uptime + .seconds(seconds)) }

    /// Advances the clock from timer to timer, so that each fires when it is due.
    private func live(until end: Duration) async throws {
        await story.phone.rest()
        while let next = clock.nextWaking, next < end {
            let before = await costs
            clock.advance(by: seconds(to: next) + 0.001)
            try await until { await costs.wakeUps > before.wakeUps }
            // Without a network every timer is the end of a pause.
            if !story.life.network.isOnline { try await until { await costs.requests.count > before.requests.count } }
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
