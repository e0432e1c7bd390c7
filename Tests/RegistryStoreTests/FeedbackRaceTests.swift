import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct FeedbackRaceTests {
    @Test(arguments: ["activities SET metadata_observed_at", "token_values SET delivered_at"], [410, 400])
    func `A report applies to a row that is rewritten at the same time`(_ column: String, _ status: Int) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(60))
        let writing: SQL = "UPDATE \(unescaped: column) = now()"
        let writer = try await HeldTransaction(writing, in: activity.database, commits: true)
        async let action = activity.report(1, status, status == 400 ? "BadDeviceToken" : nil)
        try await writer.waitUntilSomebodyWaits()
        try await writer.release()
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
        try await registration.waitUntilSomebodyWaits()
        try await registration.release()
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
        try await takeover.waitUntilSomebodyWaits()
        try await takeover.release()
        try await refresh.waitUntilSomebodyWaits()
        try await refresh.release()
        #expect(try await action == .dropped)
        #expect(try await second.currentToken() == nil)
        #expect(try await second.record()?.status.reason == "unregistered")
        #expect(try await second.events().last == "dropped")
        #expect(try await second.count("SELECT count(*) FROM activities WHERE withheld IS NOT NULL") == 1)
        #expect(try await second.retired() == ["unregistered"])
    }
}
