import Foundation
import PostgresDriver

package struct PostgresHealth: Sendable {
    package struct Table: Sendable, Hashable {
        /// `events` includes all its partitions.
        package let name: String
        /// Postgres's estimates.
        package let rows: Int
        package let deadRows: Int
        /// In bytes, with indexes.
        package let size: Int
        /// The last run by autovacuum or by hand; nil if none.
        package let vacuumedAt: Date?
        /// The last run by autovacuum or by hand; nil if none.
        package let analyzedAt: Date?
    }

    package struct Server: Sendable, Hashable {
        package let startedAt: Date
        package let size: Int
        package let longestTransaction: Duration?
        package let waiting: Int
        package let blocksHit: Int
        package let blocksRead: Int
        package let deadlocks: Int
        package let commits: Int
        package let rollbacks: Int
        /// The setting `synchronous_standby_names`.
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
                Query("health.read-server")(), Query("health.list-tables")(), Query("health.list-migrations")(),
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
