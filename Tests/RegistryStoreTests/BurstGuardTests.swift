import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R8: a sender's wrong key or topic must not empty the registry.
@Suite struct BurstGuardTests {
    private static func register(_ count: Int, in activity: TestActivity) async throws {
        for number in 1...count { try await activity.another("a\(number)").register(number, at: .minutesAgo(30)) }
    }

    private static func report(_ tokens: some Sequence<Int>, in activity: TestActivity) async throws
        -> [FeedbackAction]
    {
        let reports = tokens.map { FeedbackReport(token: .sample($0), status: 400, reason: "DeviceTokenNotForTopic") }
        return try await activity.database.registry.apply(reports, in: activity.scope, by: "sender").actions
    }

    private static func handedOut(in activity: TestActivity) async throws -> Int {
        try await activity.database.handedOut(in: activity.scope)
    }

    @Test func `Three quarantines are always accepted`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        #expect(try await Self.report(1...3, in: activity) == [.quarantined, .quarantined, .quarantined])
        #expect(try await Self.handedOut(in: activity) == 2)
        // One more report trips the guard, which releases the earlier quarantines.
        #expect(try await Self.report([4], in: activity) == [.guarded])
        #expect(try await Self.handedOut(in: activity) == 5)
        #expect(try await Self.report([1, 5], in: activity) == [.guarded, .guarded])
        let events = try await activity.another("a1").events()
        #expect(events == ["registered", "quarantined", "released"])
        #expect(try await activity.report(2, 410) == .dropped)
    }

    @Test func `A fifth of the tokens is the limit`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(40, in: activity)
        #expect(try await Set(Self.report(1...8, in: activity)) == [.quarantined])
        #expect(try await Self.handedOut(in: activity) == 32)
        #expect(try await Self.report([9], in: activity) == [.guarded])
        #expect(try await Self.handedOut(in: activity) == 40)
    }

    @Test func `Repeated reports count once`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        for _ in 0..<4 { #expect(try await Set(Self.report(1...3, in: activity)) == [.quarantined]) }
        #expect(try await Self.handedOut(in: activity) == 2)
    }

    @Test func `The guard is off after ten quiet minutes`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        #expect(try await Set(Self.report(1...4, in: activity)) == [.guarded])
        try await Self.age(activity, by: "9 minutes")
        #expect(try await Self.report([1], in: activity) == [.guarded])
        // The previous report restarted the ten minutes.
        try await Self.age(activity, by: "9 minutes")
        #expect(try await Self.report([1], in: activity) == [.guarded])
        try await Self.age(activity, by: "11 minutes")
        #expect(try await Self.report([1], in: activity) == [.quarantined])
    }

    @Test func `Quarantines older than ten minutes do not count`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(8, in: activity)
        _ = try await Self.report(1...3, in: activity)
        try await Self.age(activity, by: "11 minutes")
        #expect(try await Self.report(4...6, in: activity) == [.quarantined, .quarantined, .quarantined])
        #expect(try await Self.handedOut(in: activity) == 2)
    }

    @Test func `Each environment has its own guard`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        _ = try await Self.report(1...5, in: activity)
        let production = TestActivity(
            database: activity.database,
            scope: Scope(app: activity.scope.app, environment: .production),
            id: activity.id
        )
        try await Self.register(1, in: production)
        #expect(try await Self.report([1], in: production) == [.quarantined])
    }

    @Test func `One call releases all quarantines`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        _ = try await Self.report(1...3, in: activity)
        let registry = activity.database.registry
        #expect(try await registry.releaseAll(in: activity.scope, by: "admin") == 3)
        #expect(try await Self.handedOut(in: activity) == 5)
        #expect(try await registry.releaseAll(in: activity.scope, by: "admin") == 0)
    }

    private static func age(_ activity: TestActivity, by interval: String) async throws {
        try await activity.database.pool.withSession { session in
            try session.simple(
                """
                UPDATE quarantine_guards SET tripped_at = earlier(tripped_at, '\(interval)'),
                    reported_at = earlier(reported_at, '\(interval)');
                UPDATE token_values SET quarantined_at = earlier(quarantined_at, '\(interval)')
                """
            )
        }
    }
}
