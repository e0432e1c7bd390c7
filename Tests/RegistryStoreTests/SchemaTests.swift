import Foundation
import Logging
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite struct SchemaTests {
    @Test func `Repeated and concurrent migrations apply each file once`() async throws {
        let database = try await TestDatabase.make()
        let migrator = SchemaMigrator(pool: database.pool)
        #expect(try await concurrently(0..<4) { _ in try await migrator.migrate().count } == [0, 0, 0, 0])
        let status = try await migrator.status()
        #expect(status.version == SchemaMigrator.currentVersion)
        #expect(status.pending.isEmpty)
    }

    /// Databases contain released migrations, so a change needs a new file.
    @Test func `A released migration is unchanged`() {
        let released = [
            "0001_apps_and_keys.sql": "44e4845a09300ade", "0002_installations.sql": "df56eafe72f0f195",
            "0003_activities.sql": "d7f0f25d5770e6d",
            "0004_tokens.sql": "7b4769f8e2379b1", "0005_events.sql": "455ebbdb55c569e1",
            "0006_channels_and_plan.sql": "565b63d9fd6c60c0",
            "0007_erasures_and_counts.sql": "168b71d7e51837af", "0008_views.sql": "7758042aa989d911",
        ]
        let ours = Dictionary(uniqueKeysWithValues: Migration.all.map { ($0.name, $0.checksum) })
        #expect(ours.filter { released[$0.key] != nil } == released)
    }

    @Test func `The header of the schema lists its tables and views, and no others`() async throws {
        let page = Migration.all[0].sql.components(separatedBy: "-- How a token flows")[0]
        let names = page.split(separator: "\n").flatMap { line in
            (line.firstMatch(of: #/^--   ([a-z_]+(?:, [a-z_]+)*)  /#)?.1 ?? "").split(separator: ", ").map(String.init)
        }
        let database = try await TestDatabase.make()
        let found = try await database.column(
            """
            SELECT c.relname::text FROM pg_class c
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v')
                AND (NOT c.relispartition OR c.relname = 'events_default')
            """
        )
        #expect(names.sorted() == found.sorted())
    }

    @Test func `Migrating keeps the pool's limits`() async throws {
        let database = try await TestDatabase.make(maximumConnections: 1)
        let limits: SQL = "SELECT unnest(ARRAY[current_setting('statement_timeout'), current_setting('lock_timeout')])"
        #expect(try await database.column(limits) == ["4s", "3s"])
    }

    @Test func `Newer and changed schemas are refused with a clear message`() async throws {
        let database = try await TestDatabase.make()
        let migrator = SchemaMigrator(pool: database.pool)
        try await database.run("UPDATE schema_migrations SET checksum = 'other'")
        await #expect(throws: SchemaError.changed("0001_apps_and_keys.sql")) { try await migrator.checkCompatible() }
        try await database.run("UPDATE schema_migrations SET version = 99 WHERE version = 1")
        await #expect(throws: SchemaError.ahead(99, SchemaMigrator.currentVersion)) {
            try await migrator.checkCompatible()
        }
        try await database.run("DELETE FROM schema_migrations")
        await #expect(throws: SchemaError.behind(0, SchemaMigrator.currentVersion)) {
            try await migrator.checkCompatible()
        }
    }

    @Test func `Readiness contains the versions`() async throws {
        let database = try await TestDatabase.make()
        let current = SchemaMigrator.currentVersion
        #expect(try await database.registry.checkReadiness().schemaVersion == current)
        // A newer version migrates before this instance is replaced.
        try await database.run("INSERT INTO schema_migrations (version, name, checksum) VALUES (99, 'later', 'x')")
        #expect(try await database.registry.checkReadiness().schemaVersion == 99)
        try await database.run("DELETE FROM schema_migrations WHERE version IN (99, \(current))")
        await #expect(throws: Problem.self) { try await database.registry.checkReadiness() }
    }

    @Test func `An interrupted deletion is completed later`() async throws {
        let activity = try await TestActivity.make()
        let (database, app) = (activity.database, activity.scope.app)
        let other = try await database.scope("com.example.other")
        for scope in [activity.scope, other] {
            let one = TestActivity(database: database, scope: scope, id: activity.id)
            try await one.register(1, at: .minutesAgo(5), aliases: [.sample("orderId", "42")])
            try await one.register(2, at: .minutesAgo(4))
        }
        let tables = AppTables.scanned + AppTables.indexed
        // The state after the first transaction of a deletion.
        try await database.run(Query("apps.delete")(["bundle_id": app.bundleID.rawValue]))
        // Another instance may still know the app for a moment and write rows, so a later sweep checks again.
        #expect(try await database.registry.finishDeletions() == 1)
        try await database.run("UPDATE deleted_apps SET deleted_at = now() - interval '1 minute'")
        try await database.run("INSERT INTO quarantine_guards (scope_id, kind) VALUES (\(activity.scope.id), 'update')")
        #expect(try await database.registry.finishDeletions() == 1)
        #expect(try await database.registry.finishDeletions() == 0)
        let late = await activity.problem { try await activity.register(3, at: nil) }
        #expect(late?.code == .unknownApp)
        for table in tables {
            for id in [app.scopeIDs[.sandbox], app.scopeIDs[.production]] {
                let left: SQL = "SELECT count(*) FROM \(unescaped: table) WHERE scope_id = \(id)"
                #expect(try await database.count(left) == 0, "\(table)")
            }
        }
        for table in ["api_keys", "scopes", "deleted_apps"] {
            let left: SQL = "SELECT count(*) FROM \(unescaped: table) WHERE app_id = \(app.id)"
            #expect(try await database.count(left) == 0, "\(table)")
        }
        let rest = TestActivity(database: database, scope: other, id: activity.id)
        #expect(try await rest.tokens(.sample("orderId", "42")) == [.sample(2)])
    }

    @Test func `The deletion of an app covers all tables with rows of a scope`() async throws {
        let database = try await TestDatabase.make()
        let tables = try await database.column(
            """
            SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'scope_id'
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            """
        )
        #expect(Set(tables) == Set(AppTables.scanned + AppTables.indexed + ["scopes"]))
    }

    @Test func `Unsafe servers are refused`() async throws {
        // The test cluster runs without fsync.
        let database = try await TestDatabase.make()
        let pool = PostgresPool(databaseURL: database.connectionString, logger: Logger(label: "test"))
        await #expect(throws: UnsafeDurability.self) { try await pool.withSession { _ = try $0.execute("SELECT 1") } }
        await pool.shutdown()
    }
}
