import PushTokenRegistryTestSupport
import Testing

/// The app dies at each write of its file: before, during or after it. The next launch repairs everything.
@Suite(.timeLimit(.minutes(20))) struct WriteCrashTests {
    private typealias Crash = (moment: ProcessEnd.Moment, write: Int)

    private static let activities: [Step] = [
        .activityBegins(reusesOrder: false), .tokenRotates(0, .streamed), .startToken(type: 0, isSilent: false),
        .network(.offline), .tokenRotates(0, .streamed), .activityBegins(reusesOrder: false),
        .tokenRotates(1, .streamed), .network(.online), .time(seconds: 3), .activityEnds(0), .network(.deaf),
        .userSwipes(0), .network(.online),
        .clock(ahead: 3600), .activityBegins(reusesOrder: false), .tokenRotates(0, .streamed), .time(seconds: 60),
    ]

    /// Steps with effects that only the file contains.
    private static let users: [Step] = [
        .activityBegins(reusesOrder: false), .tokenRotates(0, .streamed), .widgetToken(isRemoved: false),
        .network(.offline),
        .signIn(1), .deviceToken, .widgetToken(isRemoved: true), .network(.online), .time(seconds: 3), .network(.deaf),
        .signOut, .time(seconds: 3), .signIn(2), .network(.online), .time(seconds: 60),
    ]

    @Test(arguments: [ProcessEnd.Moment.beforeWrite, .afterWrite], [activities, users])
    func `A crash before or after a write loses no report`(_ moment: ProcessEnd.Moment, _ steps: [Step]) async throws {
        try await Self.crashes(at: moment, in: steps)
    }

    @Test func `A partial file is set aside, and all activities and tokens are reported again`() async throws {
        try await Self.crashes(at: .duringWrite, in: Self.activities)
    }

    private static func crashes(at moment: ProcessEnd.Moment, in steps: [Step]) async throws {
        try await SimulatedService.run { service in
            let writes = try await play(steps, nil, on: service)
            #expect(writes > 15)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for write in 1...writes {
                    if write > 4 { try await group.next() }
                    group.addTask { _ = try await play(steps, (moment, write), on: service) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Plays all steps and relaunches a dead app before the next one.
    ///
    /// - Returns: the number of writes of the first app.
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
