import PushTokenRegistryTestSupport
import Testing

/// The app dies at each write of its file, before it, in the middle of it or after it; the next one makes all right.
@Suite(.timeLimit(.minutes(20))) struct WriteCrashTests {
    private struct Crash: Sendable {
        let moment: ProcessEnd.Moment
        let write: Int
    }

    private static let activities: [Step] = [
        .activityBegins(reusesOrder: false), .tokenRotates(0, .told), .startToken(type: 0, isSilent: false),
        .network(.offline), .tokenRotates(0, .told), .activityBegins(reusesOrder: false), .tokenRotates(1, .told),
        .network(.online), .time(seconds: 3), .activityEnds(0), .network(.deaf), .userSwipes(0), .network(.online),
        .clock(ahead: 3600), .activityBegins(reusesOrder: false), .tokenRotates(0, .told), .time(seconds: 60),
    ]

    /// Things that only the file remembers.
    private static let users: [Step] = [
        .activityBegins(reusesOrder: false), .tokenRotates(0, .told), .widgetToken(isRemoved: false),
        .network(.offline),
        .signIn(1), .deviceToken, .widgetToken(isRemoved: true), .network(.online), .time(seconds: 3), .network(.deaf),
        .signOut, .time(seconds: 3), .signIn(2), .network(.online), .time(seconds: 60),
    ]

    @Test(arguments: [ProcessEnd.Moment.beforeWrite, .afterWrite], [activities, users])
    func `A death before or after any write loses nothing`(_ moment: ProcessEnd.Moment, _ steps: [Step]) async throws {
        try await Self.crashes(at: moment, in: steps)
    }

    @Test("Half a file is set aside, and all that the phone shows is told again") func halfFile() async throws {
        try await Self.crashes(at: .duringWrite, in: Self.activities)
    }

    private static func crashes(at moment: ProcessEnd.Moment, in steps: [Step]) async throws {
        try await SimulatedService.run { service in
            let writes = try await play(steps, nil, on: service)
            #expect(writes > 15)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for write in 1...writes {
                    if write > 4 { try await group.next() }
                    group.addTask { _ = try await play(steps, Crash(moment: moment, write: write), on: service) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Plays all steps; an app that died is launched before the next one.
    ///
    /// - Returns: how often the first app wrote.
    private static func play(_ steps: [Step], _ crash: Crash?, on service: SimulatedService) async throws -> Int {
        let life = PhoneLife("\(crash?.moment, default: "whole")-\(crash?.write ?? 0)", on: service)
        await life.play(.launch(listIsLate: false))
        guard let first = await life.phone.app else { return 0 }
        if let crash { first.end.comes(at: crash.moment, write: crash.write) }
        for step in [.signIn(0)] + steps {
            if await life.phone.app == nil { await life.play(.launch(listIsLate: false)) }
            await life.play(step)
        }
        let faults = try await life.endFaults()
        if !faults.isEmpty {
            Issue.record("write \(crash?.write ?? 0): \(faults.joined(separator: "; "))\n\(life.network.diary.text)")
        }
        return first.end.writes
    }
}
