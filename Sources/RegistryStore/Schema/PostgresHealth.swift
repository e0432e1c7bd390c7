import Foundation
import PostgresDriver

/// The database's health: its condition, and the figures behind it.
package struct PostgresHealth: Sendable {
    /// A table, with all of its partitions.
    package struct Table: Sendable, Hashable {
        /// The name of the table; `events` stands for all its partitions.
        package let name: String
        /// Postgres's estimate; dead rows wait for vacuum.
        package let rows: Int
        package let deadRows: Int
        /// In bytes, with indexes.
        package let size: Int
        /// By autovacuum or by hand; nil if never.
        package let vacuumedAt: Date?
        /// By autovacuum or by hand; nil if never.
        package let analyzedAt: Date?
    }

    package struct Server: Sendable, Hashable {
        package let startedAt: Date
        /// Of the database, in bytes.
        package let size: Int
        /// The age of the longest running transaction.
        package let longestTransaction: Duration?
        package let waiting: Int
        /// Blocks found in Postgres's own memory, since the statistics were reset.
        package let blocksHit: Int
        /// Blocks read from files, since the statistics were reset.
        package let blocksRead: Int
        /// In this database, since the statistics were reset.
        package let deadlocks: Int
        /// In this database, since the statistics were reset.
        package let commits: Int
        /// In this database, since the statistics were reset.
        package let rollbacks: Int
        /// The configured standbys that commits wait for; empty for none.
        package let synchronousStandbys: String
        package let standbys: Int
    }

    package let condition: DatabaseCondition
    package let server: Server
    package let tables: [Table]
    package let migrations: [AppliedMigration]
}

extension PostgresHealth.Server: DecodableRow {
    package init(row: NamedRow) throws {
        startedAt = try row["started_at"]
        size = try row["database_size"]
        longestTransaction = try row["longest_transaction"]
        waiting = try row["waiting_for_locks"]
        blocksHit = try row["blks_hit"]
        blocksRead = try row["blks_read"]
        deadlocks = try row["deadlocks"]
        commits = try row["xact_commit"]
        rollbacks = try row["xact_rollback"]
        synchronousStandbys = try row["synchronous_standbys"]
        standbys = try row["standbys"]
    }
}

extension PostgresHealth.Table: DecodableRow {
    package init(row: NamedRow) throws {
        name = try row["name"]
        rows = try row["rows"]
        deadRows = try row["dead"]
        size = try row["size"]
        vacuumedAt = try row["vacuumed"]
        analyzedAt = try row["analyzed"]
    }
}

extension Registry {
    package func health() async throws -> PostgresHealth {
        try await read { session in
            let condition = try DatabaseCondition(session)
            let results = try session.pipeline([
                Query("health.read-server")(), Query("health.list-tables")(), Query.listMigrations(),
            ])
            guard let server = try results[0].decode(PostgresHealth.Server.self).first else {
                throw UnreadableRow(detail: "pg_stat_database lacks this database")
            }
            return PostgresHealth(
                condition: condition,
                server: server,
                tables: try results[1].decode(),
                migrations: try results[2].decode()
            )
        }
    }
}

extension Query {
    static let listMigrations: Query = "health.list-migrations"
}
