import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// After a crash, Postgres reuses transaction ids that were not flushed.
@Suite(.serialized, .timeLimit(.minutes(15))) struct PositionCrashTests {
    @Test func `A position stays valid after a crash that follows rolled-back writes`() async throws {
        // The WAL writer is so slow that unflushed records are still in memory when the processes are killed.
        let cluster = FaultCluster(settings: ["wal_writer_delay": "10000", "wal_writer_flush_after": "1GB"])
        let (scope, position) = try await Self.run(cluster) { registry, pool in
            let app = try await registry.put(AppChanges(), for: BundleID("com.example.food"), by: "test").app
            let scope = Scope(app: app, environment: .sandbox)
            for number in 0..<10 { try await Self.register(number, on: registry, in: scope) }
            for _ in 0..<10 { try await Self.undo(in: pool) }
            return (scope, try await registry.presentChangePosition())
        }
        await cluster.crash()
        let told = try await Self.run(cluster) { registry, _ in
            for number in 10..<40 { try await Self.register(number, on: registry, in: scope) }
            return try await registry.changes(after: position, limit: 100, in: scope).changes.map(\.activityID)
        }
        #expect(told == (10..<40).map { UTF8Text("a-\($0)") })
        await cluster.remove()
    }

    private static func run<Value: Sendable>(
        _ cluster: FaultCluster,
        _ body: (Registry, PostgresPool) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let pool = PostgresPool(
            databaseURL: try await cluster.start(),
            maximumConnections: 2,
            requestTimeout: .seconds(60),
            allowsUnsafeDurability: false,
            logger: logger
        )
        try await SchemaMigrator(pool: pool).migrate()
        let value = try await body(Registry(pool: pool, logger: logger), pool)
        await pool.shutdown()
        return value
    }

    private static func register(_ number: Int, on registry: Registry, in scope: Scope) async throws {
        try await registry.registerSample("a-\(number)", token: number, minutesAgo: 1, in: scope)
    }

    private static func undo(in pool: PostgresPool) async throws {
        struct Undone: Error {}
        do {
            try await pool.withSession(.never) { session in
                try session.transaction { transaction in
                    _ = try transaction.execute("SELECT pg_current_xact_id(), nextval('events_event_number_seq')")
                    throw Undone()
                }
            }
        } catch is Undone {}
    }
}
