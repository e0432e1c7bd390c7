import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R8: a sender's wrong key or topic must not empty the registry.
@Suite struct BurstGuardTests {
    private static func register(_ count: Int, in activity: TestActivity) async throws {
        for number in 1...count { try await activity.another("a\(number)").register(number, at: .minutesAgo(30)) }
    }

    private static func deliverableCount(in activity: TestActivity) async throws -> Int {
        try await activity.database.deliverableCount(in: activity.scope)
    }

    @Test func `Three quarantines are always accepted, and repeated reports count once`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        for _ in 0..<4 { #expect(try await Set(activity.suspect(1...3)) == [.quarantined]) }
        #expect(try await Self.deliverableCount(in: activity) == 2)
        // One more report trips the guard, which releases the earlier quarantines.
        #expect(try await activity.suspect([4]) == [.guarded])
        #expect(try await Self.deliverableCount(in: activity) == 5)
        #expect(try await activity.suspect([1, 5]) == [.guarded, .guarded])
        #expect(try await activity.another("a1").events() == ["registered", "quarantined", "released"])
        #expect(try await activity.report(2, 410) == .dropped)
    }

    @Test func `The guard is off after ten quiet minutes`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        #expect(try await Set(activity.suspect(1...4)) == [.guarded])
        try await Self.age(activity, by: "9 minutes")
        #expect(try await activity.suspect([1]) == [.guarded])
        // The previous report restarted the ten minutes.
        try await Self.age(activity, by: "9 minutes")
        #expect(try await activity.suspect([1]) == [.guarded])
        try await Self.age(activity, by: "11 minutes")
        #expect(try await activity.suspect([1]) == [.quarantined])
    }

    @Test func `Quarantines older than ten minutes do not count`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(8, in: activity)
        try await activity.suspect(1...3)
        try await Self.age(activity, by: "11 minutes")
        #expect(try await activity.suspect(4...6) == [.quarantined, .quarantined, .quarantined])
        #expect(try await Self.deliverableCount(in: activity) == 2)
    }

    @Test func `Each environment has its own guard`() async throws {
        let activity = try await TestActivity.make()
        try await Self.register(5, in: activity)
        try await activity.suspect(1...5)
        let scope = Scope(app: activity.scope.app, environment: .production)
        let production = TestActivity(database: activity.database, scope: scope, id: activity.id)
        try await Self.register(1, in: production)
        #expect(try await production.suspect([1]) == [.quarantined])
    }

    private static func age(_ activity: TestActivity, by interval: String) async throws {
        try await activity.database.age("quarantine_guards", ["tripped_at", "reported_at"], by: interval)
        try await activity.database.age("token_values", ["quarantined_at"], by: interval)
    }
}
