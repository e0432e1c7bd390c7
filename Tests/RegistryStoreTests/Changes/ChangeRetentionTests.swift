import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct ChangeRetentionTests {
    private let alias = Alias.sample("orderId", "o")

    private func dropAll(_ database: TestDatabase, byPartition: Bool) async throws {
        if byPartition { try await database.makePartitionOfYesterday() }
        try await database.script("UPDATE events SET drop_on = current_date - 1")
        #expect(try await database.registry.renewEventPartitions().dropped == (byPartition ? 1 : 0))
        #expect(try await database.rows(in: "events") == 0)
    }

    private func register(_ number: Int, _ database: TestDatabase, _ scope: Scope) async throws {
        let activity = TestActivity(database: database, scope: scope, id: .sample("a-\(number)"))
        try await activity.register(number, at: .minutesAgo(1), aliases: [alias])
    }

    @Test(arguments: [true, false])
    func `A position from before dropped events is refused`(byPartition: Bool) async throws {
        let database = try await TestDatabase.make()
        var changes = AppChanges()
        changes.eventRetention = .seconds(86_400)
        _ = try await database.scope("com.example.food", .sandbox, changes)
        changes.eventRetention = .seconds(90 * 86_400)
        let scope = try await database.scope("com.example.food", .sandbox, changes)
        var cache = try await FollowingCache(of: [alias], on: database.registry, in: scope)
        try await register(1, database, scope)
        try await dropAll(database, byPartition: byPartition)
        let problem = await #expect(throws: Problem.self) { try await cache.follow() }
        #expect(problem?.code == .feedExpired)
        cache = try await FollowingCache(of: [alias], on: database.registry, in: scope)
        #expect(try await cache.differences(from: database.registry) == [])
        try await register(2, database, scope)
        #expect(try await cache.follow() == ["available"])
        #expect(try await cache.differences(from: database.registry) == [])
    }

    @Test func `Dropping events loses none for a follower that has read them`() async throws {
        let database = try await TestDatabase.make()
        let (scope, other) = (try await database.scope(), try await database.scope("com.example.other"))
        var cache = try await FollowingCache(of: [alias], on: database.registry, in: scope)
        try await register(1, database, scope)
        #expect(try await cache.follow() == ["available"])
        // Dropped events of another app do not invalidate a position.
        try await register(1, database, other)
        try await dropAll(database, byPartition: true)
        try await register(2, database, scope)
        #expect(try await cache.follow() == ["available"])
        #expect(try await cache.differences(from: database.registry) == [])
    }
}
