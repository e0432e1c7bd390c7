import Foundation
import Logging
import PostgresDriver
import RegistryCore
import Synchronization
import TestSupport
import Testing

@testable import RegistryStore

/// Tables on a Citus coordinator and two workers, if Citus is installed. Other suites need `PUSHREG_TEST_CITUS=1`.
@Suite(.timeLimit(.minutes(15))) struct DistributionTests {
    private static func make() async throws -> TestDatabase? {
        guard try await CitusCluster.isAvailable else {
            print("left out: this Postgres has no extension citus")
            return nil
        }
        return try await TestDatabase.make(isAlone: true, on: CitusCluster.shared)
    }

    /// Without BEGIN, a distributed Postgres commits each statement separately.
    @Test func `The worker stores all statements of a write or none`() async throws {
        guard let database = try await Self.make() else { return }
        let scope = try await database.scope()
        @Sendable func insertion(_ value: String) -> SQL {
            """
            INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
            VALUES (\(scope.id), 'orderId', \(value), false, 1)
            """
        }
        await #expect(throws: PostgresError.self) {
            try await database.pool.withSession { session in
                try session.pipeline([insertion("1"), insertion("2"), insertion("1")]).count
            }
        }
        #expect(try await database.rows(in: "activity_aliases") == 0)
        // Reads omit BEGIN, so this fails.
        await #expect(throws: PostgresError.self) {
            try await database.pool.withSession(.idempotentRead) { session in
                try session.pipeline([insertion("1"), insertion("2"), insertion("1")]).count
            }
        }
        #expect(try await database.rows(in: "activity_aliases") == 2)
    }

    /// Counting an app takes about fifty milliseconds.
    @Test func `More apps are counted than one unit of work can read`() async throws {
        guard let database = try await Self.make() else { return }
        var scopes: [Scope] = []
        for number in 1...60 { scopes.append(try await database.scope("com.example.app\(number)")) }
        let pool = PostgresPool(
            databaseURL: database.connectionString,
            maximumConnections: 2,
            requestTimeout: .seconds(2),
            allowsUnsafeDurability: true,
            logger: Logger(label: "counts")
        )
        let registry = Registry(pool: pool, logger: Logger(label: "counts"))
        let start = ContinuousClock.now
        for scope in scopes { try await registry.counts(in: scope) }
        let counted = ContinuousClock.now
        #expect(try await registry.totals().age < .seconds(600))
        let read = counted.duration(to: .now)
        print("figure: Citus, 60 apps: counted in \(start.duration(to: counted)), read for metrics in \(read)")
        #expect(try await database.rows(in: "counts") == 60)
    }

    @Test func `Large tables are sampled on the workers, too`() async throws {
        guard let database = try await Self.make() else { return }
        let scope = try await database.scope()
        let sample: QueryValues = ["percent": 12.5, "scope": scope.id]
        let ages: QueryValues = ["ages": RegistryStatistics.ageLimits]
        let steps: QueryValues = ["step": Duration.seconds(60), "since": Date.distantPast, "are_common": true]
        let sampled = [
            Query("counts.count-activities")(sample + ages), Query("counts.count-tokens")(sample + ages),
            Query("counts.count-events")(sample + steps),
        ]
        try await database.pool.withSession { session in
            for statement in sampled { _ = try session.execute(statement).count }
        }
    }

    @Test func `Callers may retry after an internal error of Citus, but not of Postgres`() async throws {
        guard let database = try await Self.make() else { return }
        let plain = try await TestDatabase.make(isAlone: true, on: TestCluster.shared)
        for (database, code) in [(database, Problem.Code.unavailable), (plain, .internalError)] {
            let problem = await #expect(throws: Problem.self) {
                try await database.registry.write { session in
                    try session.simple("DO $$ BEGIN RAISE 'no such shard' USING ERRCODE = 'XX000'; END $$")
                }
            }
            #expect(problem?.code == code)
            #expect((problem?.retryAfter != nil) == (code == .unavailable))
        }
    }

    @Test func `Tables of a later migration are distributed`() async throws {
        guard let database = try await Self.make() else { return }
        let migrator = SchemaMigrator(pool: database.pool)
        #expect(try await database.condition().missingTables == [])
        let undo = [
            "DROP VIEW deliverable_installation_tokens, purgeable_tokens",
            "DROP VIEW activity_explanations, installation_token_explanations",
            "DROP VIEW explained_installation_tokens", "DROP TABLE counts, erasures",
        ]
        for command in undo { try await database.script(command) }
        try await database.run("DELETE FROM schema_migrations WHERE version >= 7")
        let distributed = Mutex<[String]>([])
        let note: @Sendable (String) -> Void = { name in distributed.withLock { $0.append(name) } }
        #expect(try await migrator.migrate(onDistributed: note).map(\.version) == [7, 8])
        #expect(distributed.withLock(\.self) == ["erasures", "counts"])
        let condition = try await database.condition()
        #expect(condition.isDistributed)
        #expect(condition.missingTables == [])
        #expect(condition.misplacedTables == [])
        #expect(try await migrator.migrate(distributes: true, onDistributed: note) == [])
        #expect(distributed.withLock(\.self) == ["erasures", "counts"])
        // The event of changed aliases is written on the activity's worker.
        let scope = try await database.scope()
        let activity = TestActivity(database: database, scope: scope, id: .sample("a"))
        for (minutes, order) in [(2.0, "1"), (1, "2")] {
            try await activity.register(1, at: .minutesAgo(minutes), aliases: [.sample("orderId", order)])
        }
        let changes: SQL = """
            SELECT count(*) FROM events WHERE type = 'aliases-changed' AND aliases = '{"orderId": ["1", "2"]}'
            """
        #expect(try await database.count(changes) == 1)
    }

    @Test func `Commands of migrations end at line ends`() {
        for migration in Migration.all {
            let comments = migration.sql.split(separator: "\n").filter { $0.contains("--") }
            #expect(comments.filter { $0.hasSuffix(";") } == [], "\(migration.name)")
            #expect(migration.commands.joined(separator: ";\n").count >= migration.sql.count - 3)
        }
        #expect(Distribution.tables.contains("start_leases") && !Distribution.tables.contains("events_default"))
    }

    /// The workers' own transaction ids differ, and positions must not contain them.
    @Test func `Events on every worker have event numbers and transaction ids of the coordinator`() async throws {
        guard let database = try await Self.make() else { return }
        var scopes: [Scope] = []
        for name in ["one", "two", "three", "four"] { scopes.append(try await database.scope("com.example.\(name)")) }
        // Moves the ids of the nodes far apart.
        try await database.pool.withSession { session in
            for _ in 0..<200 { _ = try session.execute("SELECT pg_current_xact_id()") }
        }
        let before = try await database.count("SELECT pg_current_xact_id()::text::bigint")
        for (number, scope) in scopes.enumerated() {
            let activity = TestActivity(database: database, scope: scope, id: .sample("a\(number)"))
            try await activity.register(number, at: nil, aliases: [.sample("orderId", "\(number)")])
            try await activity.end()
        }
        let after = try await database.count("SELECT pg_current_xact_id()::text::bigint")
        let strangers = try await database.count(
            """
            SELECT count(*) FROM events
            WHERE activity_id IS NOT NULL
                AND NOT (transaction_id > \(String(before))::xid8 AND transaction_id < \(String(after))::xid8)
            """
        )
        #expect(strangers == 0)
        #expect(try await database.count("SELECT count(*) FROM events WHERE activity_id IS NOT NULL") == 8)
        #expect(try await database.count("SELECT max(event_number) FROM events") < 1000)
    }

    @Test func `Tables that cannot be distributed get a clear message`() async throws {
        guard let database = try await Self.make() else { return }
        let plain = try await TestDatabase.make(on: TestCluster.shared)
        await #expect(throws: DistributionError.notInstalled) {
            try await SchemaMigrator(pool: plain.pool).migrate(distributes: true)
        }
        let (lonely, worker) = try await CitusCluster.shared.undistributed()
        let alone = PostgresPool(databaseURL: lonely, allowsUnsafeDurability: true, logger: silent)
        let migrator = SchemaMigrator(pool: alone)
        await #expect(throws: DistributionError.noWorker) { try await migrator.migrate(distributes: true) }
        let strayed = PostgresPool(databaseURL: worker, allowsUnsafeDurability: true, logger: silent)
        await #expect(throws: DistributionError.notTheCoordinator) { try await SchemaMigrator(pool: strayed).migrate() }
        #expect(try await database.texts("SELECT current_setting('plan_cache_mode')") == ["auto"])
    }

    @Test func `Misplaced tables and local tables are detected`() async throws {
        guard let database = try await Self.make() else { return }
        for command in [
            "SELECT undistribute_table('channels')", "SELECT undistribute_table('counts')",
            "SELECT create_reference_table('counts')",
        ] { try await database.run("\(unescaped: command)") }
        let condition = try await database.condition()
        #expect(condition.missingTables == ["channels"])
        #expect(condition.misplacedTables == ["counts"])
        #expect(condition.workers.count == 2)
        #expect(condition.workers.allSatisfy { $0.isReachable && $0.otherSettings == [:] })
        // The test's servers run without fsync.
        #expect(condition.workers.allSatisfy { $0.unsafeSettings.map(\.setting) == ["fsync"] })
    }
}

extension TestDatabase {
    fileprivate func condition() async throws -> DistributionCondition {
        try #require(try await registry.databaseCondition().distribution)
    }
}

private let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
