import Foundation
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct FeedResetTests {
    private static func register(_ number: Int, _ alias: Alias? = nil, on registry: Registry) async throws -> Scope {
        let app = try await registry.put(AppChanges(), for: BundleID("com.example.food"), by: "test").app
        let scope = Scope(app: app, environment: .sandbox)
        _ = try await registry.register(
            .sample(token: .sample(number), observedAt: .minutesAgo(1), aliases: alias.map { [$0] }),
            as: .sample("a-\(number)"),
            in: scope,
            by: "test"
        )
        return scope
    }

    private static func follow(_ position: ChangePosition, on registry: Registry, in scope: Scope) async throws
        -> String
    {
        do {
            return try await registry.changes(after: position, limit: 10, in: scope).changes.map(\.type).joined()
        } catch let problem as Problem { return problem.code.rawValue }
    }

    @Test func `A position survives a restart, but not a recovery to another timeline`() async throws {
        let cluster = OwnCluster()
        defer { cluster.remove() }
        let position = try await cluster.run { registry in
            _ = try await Self.register(1, on: registry)
            return try await registry.presentChangePosition()
        }
        try await cluster.run { registry in
            let scope = try await Self.register(2, on: registry)
            #expect(try await Self.follow(position, on: registry, in: scope) == "available")
        }
        // Like a restored backup or a promoted standby, the server recovers and continues on its own timeline.
        try Data().write(to: cluster.directory.appendingPathComponent("data/recovery.signal"))
        try await cluster.run(settings: ["restore_command": "false"]) { registry in
            let scope = try await Self.register(3, on: registry)
            #expect(try await Self.follow(position, on: registry, in: scope) == "feed-reset")
            let anew = try await registry.presentChangePosition()
            _ = try await Self.register(4, on: registry)
            #expect(try await Self.follow(anew, on: registry, in: scope) == "available")
        }
    }

    private static func beginAnew(
        _ position: ChangePosition,
        _ alias: Alias,
        on registry: Registry,
        in scope: Scope
    ) async throws {
        #expect(try await follow(position, on: registry, in: scope) == "feed-reset")
        var cache = try await FollowingCache(of: [alias], on: registry, in: scope)
        #expect(cache.entries[alias]?.activities.count == 2)
        _ = try await register(3, alias, on: registry)
        #expect(try await cache.follow() == ["available"])
        #expect(try await cache.differences(from: registry) == [])
    }

    @Test func `A position is refused after the restore of a dump into the same or another database`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let alias = Alias.sample("orderId", "o")
        let dump = FileManager.default.temporaryDirectory.appendingPathComponent("dump-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: dump) }
        _ = try await Self.register(1, alias, on: database.registry)
        let scope = try await Self.register(2, alias, on: database.registry)
        let position = try await database.registry.presentChangePosition()
        try await database.shell(#""$bin/pg_dump" -Fc -f "$dump" "$database""#, ["dump": dump.path])
        let another = try await TestDatabase.make(isAlone: true)
        for restored in [another, database] {
            try await restored.shell(
                """
                "$bin/psql" -qc 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' "$database" 2>&1
                "$bin/pg_restore" --single-transaction -d "$database" "$dump"
                """,
                ["dump": dump.path]
            )
            try await Self.beginAnew(position, alias, on: restored.anotherRegistry(), in: scope)
        }
    }
}

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
