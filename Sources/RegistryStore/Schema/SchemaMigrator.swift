import Foundation
import PostgresDriver
import Queries

package struct Migration: Sendable, Hashable {
    /// From the file's name. Migrations are applied in this order.
    package let version: Int
    package let name: String
    package let sql: String

    package static let all: [Migration] = Migrations.files.map { file in
        Migration(
            version: Int(file.name.prefix(4)) ?? 0,
            name: file.name,
            sql: String(decoding: file.content, as: UTF8.self)
        )
    }

    /// 64-bit FNV-1a of the text, in hex. Detects edits, not attacks.
    package var checksum: String {
        let hash = sql.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// A command ends with a semicolon at the end of a line. No other line may end with a semicolon.
    var commands: [String] { sql.components(separatedBy: ";\n").filter { !$0.allSatisfy(\.isWhitespace) } }
}

package struct AppliedMigration: Sendable, Hashable, DecodableRow {
    package let version: Int
    package let name: String
    package let checksum: String
    package let appliedAt: Date

    package init(row: NamedRow) throws {
        version = try row["version"]
        name = try row["name"]
        checksum = try row["checksum"]
        appliedAt = try row["applied_at"]
    }
}

package struct SchemaStatus: Sendable, Hashable {
    package let applied: [AppliedMigration]
    package let pending: [Migration]

    /// 0 for an empty database.
    package var version: Int { applied.last?.version ?? 0 }

    init(applied: [AppliedMigration]) throws(SchemaError) {
        let current = SchemaMigrator.currentVersion
        if let last = applied.last, last.version > current { throw .ahead(last.version, current) }
        for migration in applied {
            let ours = Migration.all.first { $0.version == migration.version }
            guard ours?.checksum == migration.checksum else { throw .changed(migration.name) }
        }
        self.applied = applied
        pending = Migration.all.filter { migration in !applied.contains { $0.version == migration.version } }
    }
}

package enum SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
    case behind(Int, Int)
    case ahead(Int, Int)
    case changed(String)
    case encoding(String)

    package var detail: String {
        switch self {
        case .behind(let version, let current):
            "The database's schema is at version \(version), but this program needs \(current)."
        case .ahead(let version, let current):
            "The database's schema is at version \(version), newer than this program's \(current)."
        case .changed(let name): "The applied migration \(name) differs from this program's."
        case .encoding(let encoding):
            "The database has the encoding \(encoding), which does not have all characters of names."
        }
    }

    package var remedy: String {
        switch self {
        case .behind: "Run: pushreg migrate"
        case .ahead: "Use a newer pushreg."
        case .changed: "Use the pushreg that applied it."
        case .encoding: "Create another: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        }
    }

    package var description: String { "\(detail) \(remedy)" }
}

/// Upgrades a database's schema. Each numbered file is a transaction with its row in `schema_migrations`; one advisory
/// lock covers all.
package struct SchemaMigrator: Sendable {
    private let pool: PostgresPool
    package init(pool: PostgresPool) { self.pool = pool }
    package static var currentVersion: Int { Migration.all.last?.version ?? 0 }

    package func status() async throws -> SchemaStatus {
        let applied = try await pool.withSession(.idempotentRead) { try Self.applied($0) }
        return try SchemaStatus(applied: applied)
    }

    /// If tables are distributed, new tables are distributed too.
    @discardableResult
    package func migrate(
        distributes: Bool = false,
        onApplied: @escaping @Sendable (Migration) -> Void = { _ in },
        onDistributed: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> [Migration] {
        // Its own connection, which ends with the lock and the settings. Building an index on hundreds of millions of
        // rows takes long, and a timeout would undo it.
        try await pool.withOwnConnection { own in
            try await own.withSession(.never, timeout: .seconds(24 * 3600)) { session in
                try session.simple(Self.settings)
                // A session lock, because it spans the transactions of all files.
                _ = try session.execute("SELECT pg_advisory_lock(\(Self.lockKey))")
                let pending = try SchemaStatus(applied: Self.applied(session)).pending
                try session.simple(Self.table)
                for migration in pending {
                    // The values need no quoting.
                    let values = "(\(migration.version), '\(migration.name)', '\(migration.checksum)')"
                    let record = "INSERT INTO schema_migrations (version, name, checksum) VALUES \(values);"
                    // One by one, because Citus forwards a command's whole text to nodes that accept only one command
                    // each.
                    try session.transaction { transaction in
                        for command in migration.commands + [record] { try transaction.simple(command) }
                    }
                    onApplied(migration)
                }
                for table in try Self.distribute(session, isWanted: distributes) { onDistributed(table) }
                return pending
            }
        }
    }

    /// - Throws: ``SchemaError`` unless the schema is exactly this program's.
    package func checkCompatible() async throws {
        let status = try await status()
        guard status.pending.isEmpty else { throw SchemaError.behind(status.version, Self.currentVersion) }
    }

    private static let settings = """
        SET statement_timeout = 0; SET lock_timeout = '300s'; SET client_min_messages = warning
        """

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
