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

    @Test func `A storm of reports takes no more than its share`() async throws {
        let activity = try await TestActivity.make()
        try await activity.fill(Self.count)
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

    @Test func `Clients' confirmations release the tokens of a storm`() async throws {
        let activity = try await TestActivity.make()
        try await activity.fill(Self.count)
        #expect(try await Set(activity.suspect(1...Self.share)) == [.quarantined])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for first in 1...Self.reporters {
                group.addTask {
                    for number in stride(from: first, through: Self.share, by: Self.reporters) {
                        let answer = try await activity.another("a\(number)").register(number, at: nil)
                        #expect(answer.outcome == .reactivated)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await Self.out(of: activity) == 0)
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

extension TestActivity {
    /// Activities `a1`, `a2` and so on with sample tokens, claimed half an hour ago.
    fileprivate func fill(_ count: Int) async throws {
        try await database.pool.withSession(.never, timeout: .seconds(300)) { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                """
                INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
                    token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, created_at)
                SELECT \(scope.id), 'a' || n, t.token, sha256(t.token), t.at, t.at, t.at, t.at,
                    t.at + interval '8 hours', t.at, t.at
                FROM generate_series(1::bigint, \(Int64(count))) AS n
                CROSS JOIN LATERAL (
                    SELECT int8send(n) || decode(repeat('ab', 72), 'hex') AS token, now() - interval '30 minutes' AS at
                ) AS t
                """,
                """
                INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
                SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities
                """,
            ])
            try session.simple("ANALYZE activities, token_values")
        }
    }
}
