import Foundation
import PostgresDriver

/// Upgrades a database's schema. Each numbered file is a transaction with its row in `schema_migrations`; one advisory
/// lock covers all.
package struct SchemaMigrator: Sendable {
    private let pool: PostgresPool
    package init(pool: PostgresPool) { self.pool = pool }
    package static var currentVersion: Int { Migration.all.last?.version ?? 0 }

    /// - Throws: ``SchemaError`` if the database is newer than this program or an applied file was changed, and
    ///   ``PostgresError``.
    package func status() async throws -> SchemaStatus {
        let applied = try await pool.withSession(.idempotentRead) { try Self.applied($0) }
        return try SchemaStatus(applied: applied)
    }

    /// If tables are distributed, new tables are distributed too.
    ///
    /// - Parameters:
    ///   - distributes: whether to distribute the tables over Citus workers.
    ///   - onApplied: called after each migration's commit.
    ///   - onDistributed: called for each table once all are distributed.
    /// - Throws: the errors of ``status()``, and ``DistributionError``.
    @discardableResult
    package func migrate(
        distributes: Bool = false,
        onApplied: @escaping @Sendable (Migration) -> Void = { _ in },
        onDistributed: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> [Migration] {
        // Building an index on hundreds of millions of rows takes long, and a timeout would undo it.
        try await pool.withSession(.never, timeout: .seconds(24 * 3600)) { session in
            let settings = try Self.liftTimeouts(session)
            // Returns the connection unchanged. If that fails, the pool closes it.
            defer {
                _ = try? session.execute("SELECT pg_advisory_unlock(\(Self.lockKey))")
                try? session.simple(settings)
            }
            // A session lock, because it spans the transactions of all files.
            _ = try session.execute("SELECT pg_advisory_lock(\(Self.lockKey))")
            let pending = try SchemaStatus(applied: Self.applied(session)).pending
            try session.simple(Self.table)
            for migration in pending {
                try Self.apply(migration, session)
                onApplied(migration)
            }
            for table in try Self.distribute(session, isWanted: distributes) { onDistributed(table) }
            return pending
        }
    }

    /// Applies a migration in its own transaction. Commands are sent one by one, because Citus forwards a command's
    /// whole text to nodes that accept only one command each.
    private static func apply(_ migration: Migration, _ session: borrowing PostgresSession) throws {
        try session.transaction { transaction in
            for command in migration.commands + [migration.record] { try transaction.simple(command) }
        }
    }

    /// Removes the timeouts for migrations and their lock.
    ///
    /// - Returns: the script that restores the settings.
    private static func liftTimeouts(_ session: borrowing PostgresSession) throws -> String {
        let (statement, lock, messages) = try session.execute(
            """
            SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),
                current_setting('client_min_messages')
            """
        )[0].decode(String.self, String.self, String.self)
        try session.simple("SET statement_timeout = 0; SET lock_timeout = '300s'; SET client_min_messages = warning")
        return """
            SET statement_timeout = '\(statement)'; SET lock_timeout = '\(lock)'; SET client_min_messages = \(messages)
            """
    }

    /// - Throws: ``SchemaError`` unless the schema is exactly this program's.
    package func checkCompatible() async throws {
        let status = try await status()
        guard status.pending.isEmpty else { throw SchemaError.behind(status.version, Self.currentVersion) }
    }

    /// "pushreg" in eight bytes.
    private static let lockKey: Int64 = 0x70_75_73_68_72_65_67_00

    private static let table = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version integer NOT NULL,
            name text NOT NULL,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now(),
            CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
        );
        """

    private static func applied(_ session: borrowing PostgresSession) throws -> [AppliedMigration] {
        let (exists, encoding) = try session.execute(
            "SELECT to_regclass('schema_migrations') IS NOT NULL, current_setting('server_encoding')"
        )[0].decode(Bool.self, String.self)
        // SQL_ASCII stores all bytes unchanged.
        guard ["UTF8", "SQL_ASCII"].contains(encoding) else { throw SchemaError.encoding(encoding) }
        guard exists else { return [] }
        return try session.execute(Query("health.list-migrations")()).decode()
    }
}
