import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct FeedbackTests {
    /// Otherwise a report could be applied between a release and its event.
    @Test func `A release waits for the guards`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(60))
        _ = try await activity.report(1, 400, "BadDeviceToken")
        let (registry, scope) = (activity.registry, activity.scope)
        let locks: SQL = "SELECT FROM quarantine_guards WHERE scope_id = \(scope.id) FOR UPDATE"
        let report = try await HeldTransaction(locks, in: activity.database)
        async let isReleased = registry.release(activity.id, in: scope, by: "admin")
        try await report.releaseOnceSomebodyWaits()
        #expect(try await isReleased)
    }

    @Test func `An activity's audit page has the outcome of each token`() async throws {
        let activity = try await TestActivity.make()
        for (minutes, token) in [1, 2, 1].enumerated() {
            try await activity.register(token, at: .minutesAgo(Double(60 - minutes)))
        }
        #expect(try await activity.retired() == ["rotated"])
        _ = try await activity.report(1, 410)
        #expect(try await activity.retired() == ["unregistered", "rotated"])
        try await activity.register(1, at: .minutesAgo(-1))
        #expect(try await activity.retired() == ["rotated"])
        _ = try await activity.report(1, 410, at: .minutesAgo(-1))
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        // `age` changes the times of activities, not of their former tokens, so the order is undefined.
        #expect(try await activity.retired().sorted() == ["expired", "rotated"])
    }

}

extension FeedbackOutcome { var actions: [FeedbackAction] { results.map(\.action) } }

@Suite(.timeLimit(.minutes(15))) struct FeedbackRaceTests {
    @Test(arguments: ["activities SET metadata_observed_at", "token_values SET delivered_at"], [410, 400])
    func `A report applies to a row that is rewritten at the same time`(_ column: String, _ status: Int) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(60))
        let writing: SQL = "UPDATE \(unescaped: column) = now()"
        let writer = try await HeldTransaction(writing, in: activity.database, commits: true)
        async let action = activity.report(1, status, status == 400 ? "BadDeviceToken" : nil)
        try await writer.releaseOnceSomebodyWaits()
        let effect = status == 410 ? "dropped" : "quarantined"
        #expect(try await action.rawValue == effect)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.events() == ["registered", effect])
    }

    @Test func `A death applies to a row that is created at the same time`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(60))
        try await activity.database.run("DELETE FROM token_values")
        let registration = try await HeldTransaction(
            """
            INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
            SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities
            """,
            in: activity.database,
            commits: true
        )
        async let action = activity.report(1, 410)
        try await registration.releaseOnceSomebodyWaits()
        #expect(try await action == .dropped)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.count("SELECT count(*) FROM activities WHERE withheld IS NOT NULL") == 1)
    }

    /// A batch that trips the guard releases values of its own reports.
    @Test func `Reports of the batch that trips the guard apply to the released rows`() async throws {
        let activity = try await TestActivity.make()
        for number in 1...5 { try await activity.another("a\(number)").register(number, at: .minutesAgo(60)) }
        #expect(try await Set(activity.suspect(1...3)) == [.quarantined])
        let reports = [(1, 400), (2, 410), (3, 200), (4, 400)].map { token, status in
            FeedbackReport(token: .sample(token), status: status, reason: status == 400 ? "BadDeviceToken" : nil)
        }
        let outcome = try await activity.registry.apply(reports, in: activity.scope, by: "sender")
        #expect(outcome.actions == [.guarded, .dropped, .delivered, .guarded])
        #expect(outcome.trippedKinds == ["update"])
        #expect(try await activity.another("a2").currentToken() == nil)
        #expect(try await activity.database.deliverableCount(in: activity.scope) == 4)
        #expect(try await activity.another("a2").events() == ["registered", "quarantined", "released", "dropped"])
        #expect(try await activity.count("SELECT count(*) FROM token_values WHERE delivered_at IS NOT NULL") == 1)
    }

    /// The value moves to another activity while the report waits for the first activity's lock. That activity's row is
    /// then also rewritten while the report waits for its lock.
    @Test func `A death applies to a row that moves at the same time`() async throws {
        let first = try await TestActivity.make()
        let (second, database) = (first.another("second"), first.database)
        try await first.register(1, at: .minutesAgo(50))
        try await second.register(1, at: .minutesAgo(40))
        // Simulates an unfinished registration of the second activity.
        try await database.run("UPDATE token_values SET activity_id = \(first.id.rawValue)")
        try await database.run("UPDATE activities SET withheld = NULL")
        let takeover = try await HeldTransaction(
            """
            WITH taken AS (UPDATE token_values SET activity_id = \(second.id.rawValue))
            SELECT FROM activities WHERE activity_id = \(first.id.rawValue) FOR UPDATE
            """,
            in: database,
            commits: true
        )
        let refresh = try await HeldTransaction(
            "UPDATE activities SET metadata_observed_at = now() WHERE activity_id = \(second.id.rawValue)",
            in: database,
            commits: true
        )
        async let action = first.report(1, 410)
        try await takeover.releaseOnceSomebodyWaits()
        try await refresh.releaseOnceSomebodyWaits()
        #expect(try await action == .dropped)
        #expect(try await second.currentToken() == nil)
        #expect(try await second.record()?.status.reason == "unregistered")
        #expect(try await second.events().last == "dropped")
        #expect(try await second.count("SELECT count(*) FROM activities WHERE withheld IS NOT NULL") == 1)
        #expect(try await second.retired() == ["unregistered"])
    }
}

/// One call releases all quarantines, in pages.
@Suite(.timeLimit(.minutes(15))) struct ReleasePageTests {
    private static let count = 2 * Registry.releasePageSize + 34

    private static func make() async throws -> TestActivity {
        let activity = try await TestActivity.make()
        try await activity.database.addActivities(1...count, at: .minutesAgo(30), in: activity.scope)
        try await activity.database.run(
            """
            UPDATE token_values SET quarantined_kind = 'update', quarantine_reason = 'BadDeviceToken', quarantined_at =
                CASE activity_id WHEN \("bulk-\(count)") THEN \(Date.minutesAgo(19)) ELSE \(Date.minutesAgo(20)) END
            """
        )
        try await activity.database.run("UPDATE activities SET withheld = 'quarantined'")
        #expect(try await activity.database.deliverableCount(in: activity.scope) == 0)
        return activity
    }

    private static let released: SQL = "SELECT count(*) FROM events WHERE type = 'released'"

    @Test func `Very many quarantines end in pages`() async throws {
        let activity = try await Self.make()
        let (registry, scope) = (activity.registry, activity.scope)
        #expect(try await registry.releaseAll(in: scope, by: "admin") == Self.count)
        #expect(try await activity.database.deliverableCount(in: scope) == Self.count)
        #expect(try await activity.count(Self.released) == Self.count)
        #expect(try await activity.mostEventsOfATransaction("released") <= Registry.releasePageSize)
        #expect(try await registry.releaseAll(in: scope, by: "admin") == 0)
    }

    /// The latest quarantine cannot be released at first.
    @Test func `An interrupted release keeps its progress and is completed by its repetition`() async throws {
        let activity = try await Self.make()
        let (database, scope) = (activity.database, activity.scope)
        let isKept = "quarantined_at IS NOT NULL OR activity_id <> 'bulk-\(Self.count)'"
        try await database.script("ALTER TABLE token_values ADD CONSTRAINT is_kept CHECK (\(isKept))")
        let registry = database.anotherRegistry(isSilent: true)
        #expect(await activity.problem { try await registry.releaseAll(in: scope, by: "admin") } != nil)
        let kept = try await database.deliverableCount(in: scope)
        #expect((Registry.releasePageSize..<Self.count).contains(kept))
        #expect(try await activity.count(Self.released) == kept)
        try await database.script("ALTER TABLE token_values DROP CONSTRAINT is_kept")
        #expect(try await registry.releaseAll(in: scope, by: "admin") == Self.count - kept)
        #expect(try await database.deliverableCount(in: scope) == Self.count)
        #expect(try await activity.count(Self.released) == Self.count)
    }
}

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
        let (start, isOver) = (ContinuousClock.now, Flag())
        async let mostOut = Self.mostOut(of: activity, until: isOver)
        let actions = try await concurrently(0..<Self.reporters) { try await Self.reportAll($0, in: activity) }
            .flatMap(\.self)
        let duration = start.duration(to: .now)
        isOver.raise()
        let most = try await mostOut
        #expect(most <= Self.share)
        #expect(actions.allSatisfy { $0 == .guarded || $0 == .quarantined })
        #expect(try await Self.out(of: activity) == 0)
        #expect(try await activity.count("SELECT count(*) FROM quarantine_guards WHERE tripped_at IS NOT NULL") == 1)
        print(
            "figure: storm over \(Self.count) tokens: \(actions.count) reports in \(duration), "
                + "most out at once \(most) of \(Self.share) allowed, 0 at the end"
        )
    }

    private static func mostOut(of activity: TestActivity, until isOver: Flag) async throws -> Int {
        var most = 0
        while !isOver.isRaised { most = max(most, try await out(of: activity)) }
        return most
    }

    private static func reportAll(_ reporter: Int, in activity: TestActivity) async throws -> [FeedbackAction] {
        let reason = reporter.isMultiple(of: 2) ? "DeviceTokenNotForTopic" : "BadDeviceToken"
        // Reporters begin at different positions, like a real sender's.
        let batches = Array(stride(from: 1, through: count, by: 1000))
        var actions: [FeedbackAction] = []
        for index in batches.indices {
            let first = batches[(index + reporter * batches.count / reporters) % batches.count]
            let reports = (first..<min(first + 1000, count + 1)).map {
                FeedbackReport(token: .sample($0), status: 400, reason: reason)
            }
            actions += try await activity.report(reports)
        }
        return actions
    }

    private static func out(of activity: TestActivity) async throws -> Int {
        try await Self.count - activity.rows(in: "deliverable_activities")
    }
}
