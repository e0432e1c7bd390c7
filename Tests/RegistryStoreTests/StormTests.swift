import PostgresDriver
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

/// A wrong topic and a wrong environment: two senders report all tokens of an app.
@Suite(.timeLimit(.minutes(20))) struct StormTests {
    private static let count = TestScale.isLong ? 100_000 : 5000
    /// The most tokens that may be withheld before the guard trips: a fifth, at most 1000.
    private static let share = min(count / 5, 1000)
    private static let reporters = 8

    private static func make() async throws -> TestActivity {
        let activity = try await TestActivity.make()
        try await activity.database.addActivities(1...count, at: .minutesAgo(30), in: activity.scope)
        try await activity.registry.analyzeTables()
        return activity
    }

    @Test func `A storm of reports takes no more than its share`() async throws {
        let activity = try await Self.make()
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = try await Self.storm(over: activity)
        let duration = clock.now - start
        #expect(outcome.mostOut <= Self.share)
        #expect(outcome.guarded + outcome.quarantined == outcome.reports)
        #expect(try await Self.out(of: activity) == 0)
        #expect(try await activity.count("SELECT count(*) FROM quarantine_guards WHERE tripped_at IS NOT NULL") == 1)
        print(
            "figure: storm over \(Self.count) tokens: \(outcome.reports) reports in \(duration), "
                + "most out at once \(outcome.mostOut) of \(Self.share) allowed, 0 at the end"
        )
    }

    private struct Outcome {
        var reports = 0
        var quarantined = 0
        var guarded = 0
        var mostOut = 0
        var reportersLeft = StormTests.reporters
    }

    private final class Tally: Sendable {
        private let outcome = Mutex(Outcome())

        var total: Outcome { outcome.withLock { $0 } }

        func add(_ change: (inout Outcome) -> Void) { outcome.withLock { change(&$0) } }
    }

    private static func storm(over activity: TestActivity) async throws -> Outcome {
        let tally = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<reporters {
                group.addTask { try await reportAll(number, in: activity, to: tally) }
            }
            group.addTask {
                while tally.total.reportersLeft > 0 {
                    let out = try await out(of: activity)
                    tally.add { $0.mostOut = max($0.mostOut, out) }
                }
            }
            try await group.waitForAll()
        }
        return tally.total
    }

    private static func reportAll(_ reporter: Int, in activity: TestActivity, to tally: Tally) async throws {
        defer { tally.add { $0.reportersLeft -= 1 } }
        let reason = reporter.isMultiple(of: 2) ? "DeviceTokenNotForTopic" : "BadDeviceToken"
        // Reporters begin at different positions, like a real sender's.
        let batches = Array(stride(from: 1, through: count, by: 1000))
        for index in batches.indices {
            let first = batches[(index + reporter * batches.count / reporters) % batches.count]
            let reports = (first..<min(first + 1000, count + 1)).map {
                FeedbackReport(token: .sample($0), status: 400, reason: reason)
            }
            let actions = try await activity.report(reports)
            tally.add { outcome in
                outcome.reports += actions.count
                outcome.quarantined += actions.count { $0 == .quarantined }
                outcome.guarded += actions.count { $0 == .guarded }
            }
        }
    }

    private static func out(of activity: TestActivity) async throws -> Int {
        try await Self.count - activity.rows(in: "deliverable_activities")
    }
}
