import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

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
        let position = try await cluster.run { registry, _ in
            _ = try await Self.register(1, on: registry)
            return try await registry.presentChangePosition()
        }
        try await cluster.run { registry, _ in
            let scope = try await Self.register(2, on: registry)
            #expect(try await Self.follow(position, on: registry, in: scope) == "available")
        }
        // Like a restored backup or a promoted standby, the server recovers and continues on its own timeline.
        let signal = cluster.directory.appendingPathComponent("data/recovery.signal")
        try Data().write(to: signal)
        try await cluster.run(settings: ["restore_command": "false"]) { registry, _ in
            let scope = try await Self.register(3, on: registry)
            #expect(try await Self.follow(position, on: registry, in: scope) == "feed-reset")
            let anew = try await registry.presentChangePosition()
            _ = try await Self.register(4, on: registry)
            #expect(try await Self.follow(anew, on: registry, in: scope) == "available")
        }
    }

    /// The standby has all data of the primary, but the service cannot know that.
    @Test func `A promoted standby refuses a position, and a cache that starts again is correct`() async throws {
        let cluster = OwnCluster()
        defer { cluster.remove() }
        let alias = Alias.sample("orderId", "o")
        let scope = try await cluster.run { registry, _ in try await Self.register(1, alias, on: registry) }
        let standby = try await cluster.standby()
        defer { standby.remove() }
        let (position, cache) = try await cluster.run { registry, pool in
            let position = try await registry.presentChangePosition()
            let cache = try await FollowingCache(of: [alias], on: registry, in: scope)
            _ = try await Self.register(2, alias, on: registry)
            let (place, end) = try await pool.withSession { session in
                let place: SQL = "SELECT current_setting('unix_socket_directories'), pg_current_wal_flush_lsn()::text"
                return try session.execute(place)[0].decode(String.self, String.self)
            }
            let primary = ["primary_conninfo": "host=\(place) port=5432 user=registry"]
            try await standby.run(settings: primary, promotedAt: end) { registry, _ in
                try await Self.beginAnew(position, alias, on: registry, in: scope)
            }
            return (position, cache)
        }
        // The control: at the old primary both positions are still valid.
        try await cluster.run { registry, _ async throws in
            #expect(try await Self.follow(position, on: registry, in: scope) == "available")
            var cache = cache.moved(to: registry)
            #expect(try await cache.follow() == ["available"])
            #expect(try await cache.differences(from: registry) == [])
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

    @Test func `A position is refused in a copy of its database`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await Self.register(1, on: database.registry)
        let position = try await database.registry.presentChangePosition()
        #expect(try await Self.follow(position, on: database.registry, in: scope) == "")
        await database.pool.shutdown()
        let administration = try await TestDatabase.make(maximumConnections: 1)
        let name = try #require(database.connectionString.split(separator: "=").last).description
        _ = try await administration.script("CREATE DATABASE \(name)_copy TEMPLATE \(name)")
        let pool = PostgresPool(
            databaseURL: database.connectionString + "_copy",
            maximumConnections: 2,
            requestTimeout: .seconds(60),
            allowsUnsafeDurability: true,
            logger: Logger(label: "copy") { _ in SwiftLogNoOpLogHandler() }
        )
        let copy = Registry(pool: pool)
        #expect(try await Self.follow(position, on: copy, in: scope) == "feed-reset")
        await pool.shutdown()
    }
}
