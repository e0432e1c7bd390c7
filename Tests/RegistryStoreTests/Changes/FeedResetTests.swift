import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Positions of the change feed after a database was restored: whoever follows is told, and begins anew.
@Suite(.timeLimit(.minutes(15))) struct FeedResetTests {
    private static func register(_ number: Int, on registry: Registry) async throws -> Scope {
        let app = try await registry.put(AppChanges(), for: BundleID("com.example.food"), by: "test").app
        let scope = Scope(app: app, environment: .sandbox)
        _ = try await registry.register(
            .sample(token: .sample(number), observedAt: .minutesAgo(1)),
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
        } catch let problem as Problem {
            return problem.code.rawValue
        }
    }

    @Test("A position holds over a restart, and not over a recovery to another timeline") func anotherTimeline()
        async throws
    {
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
        // As a backup is restored and as a standby is promoted: the server recovers, and goes on on a timeline of its own.
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

    @Test("A position is of no use in a copy of its database") func aCopy() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await Self.register(1, on: database.registry)
        let position = try await database.registry.presentChangePosition()
        #expect(try await Self.follow(position, on: database.registry, in: scope) == "")
        await database.pool.shutdown()
        // As a dump is restored: the same rows, and numbers that go on.
        let administration = try await TestDatabase.make(maximumConnections: 1)
        let name = try #require(database.connectionString.split(separator: "=").last).description
        _ = try await administration.pool.withSession { try $0.simple("CREATE DATABASE \(name)_copy TEMPLATE \(name)") }
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
