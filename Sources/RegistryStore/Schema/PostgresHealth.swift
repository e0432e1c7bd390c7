import Foundation
import PostgresDriver

/// How Postgres does, as it says itself: its condition, and what explains it.
package struct PostgresHealth: Sendable {
    /// A table, with all of its partitions.
    package struct Table: Sendable, Hashable {
        /// The name of the table; `events` stands for all its partitions.
        package let name: String
        /// As far as Postgres has counted; rows that are dead wait for vacuum.
        package let rows: Int
        /// How many rows wait for vacuum, as Postgres has counted.
        package let deadRows: Int
        /// In bytes, with indexes.
        package let size: Int
        /// The last vacuum, by autovacuum or by hand; nil when there was none.
        package let vacuumedAt: Date?
        /// The last analysis for the planner, by autovacuum or by hand; nil when there was none.
        package let analyzedAt: Date?
    }

    /// The server and the database as a whole.
    package struct Server: Sendable, Hashable {
        /// When the server was started.
        package let startedAt: Date
        /// Of the database, in bytes.
        package let size: Int
        /// How long the longest transaction has lasted by now.
        package let longestTransaction: Duration?
        /// Sessions that wait for a lock.
        package let waiting: Int
        /// Blocks found in memory and not, since the statistics were reset.
        package let blocksHit: Int
        /// Blocks that were not in Postgres's own memory, so that it read them from a file.
        package let blocksRead: Int
        /// Deadlocks in this database, since the statistics were reset.
        package let deadlocks: Int
        /// Transactions of this database that were committed, since the statistics were reset.
        package let commits: Int
        /// Transactions of this database that were rolled back, since the statistics were reset.
        package let rollbacks: Int
        /// The standbys that commits wait for, as they are configured; empty for none.
        package let synchronousStandbys: String
        /// Standbys that are connected.
        package let standbys: Int
    }

    /// The version, the settings and the clock, and all else that findings are made of.
    package let condition: DatabaseCondition
    /// Counts and times of the server and the database.
    package let server: Server
    /// The tables of the schema, the largest first.
    package let tables: [Table]
    /// The migrations that were applied.
    package let migrations: [AppliedMigration]
}

extension PostgresHealth.Server {
    /// The columns of the database's statistics `d`.
    static let columns = Columns(
        .one("pg_postmaster_start_time()"),
        .one("pg_database_size(current_database())"),
        .one(
            """
            (SELECT max(clock_timestamp() - s.xact_start) FROM pg_stat_activity s
                WHERE s.datname = current_database() AND s.state <> 'idle' AND s.pid <> pg_backend_pid())
            """
        ),
        .one(
            """
            (SELECT count(*) FROM pg_stat_activity s
                WHERE s.datname = current_database() AND s.wait_event_type = 'Lock')
            """
        ),
        .one("d.blks_hit"),
        .one("d.blks_read"),
        .one("d.deadlocks"),
        .one("d.xact_commit"),
        .one("d.xact_rollback"),
        .one("current_setting('synchronous_standby_names')"),
        .one("(SELECT count(*) FROM pg_stat_replication r WHERE r.state = 'streaming')"),
        as: PostgresHealth.Server.init
    )
}

extension PostgresHealth.Table {
    /// The columns of a table `t`, all of its partitions together.
    static let columns = Columns(
        .one("t.name"),
        .one("sum(t.rows)::bigint"),
        .one("sum(t.dead)::bigint"),
        .one("sum(t.size)::bigint"),
        .one("max(t.vacuumed)"),
        .one("max(t.analyzed)"),
        as: PostgresHealth.Table.init
    )
}

extension Registry {
    /// Asks Postgres how it does.
    package func health() async throws -> PostgresHealth {
        try await read { session in
            let condition = try DatabaseCondition(session)
            let results = try session.pipeline([
                HealthStatements.server, HealthStatements.tables, HealthStatements.migrations,
            ])
            return PostgresHealth(
                condition: condition,
                server: try results[0][0].decode(PostgresHealth.Server.columns),
                tables: try results[1].decode(PostgresHealth.Table.columns),
                migrations: try results[2].decode(AppliedMigration.columns)
            )
        }
    }
}

/// The statements that ask Postgres how it does; they read its statistics and no table of ours.
enum HealthStatements {
    static let server: SQL = """
        SELECT \(PostgresHealth.Server.columns) FROM pg_stat_database d WHERE d.datname = current_database()
        """

    /// The tables by their size, with all partitions of one together.
    static let tables: SQL = """
        SELECT \(PostgresHealth.Table.columns)
        FROM (
            SELECT CASE WHEN c.relispartition THEN 'events' ELSE s.relname::text END AS name, s.n_live_tup AS rows,
                s.n_dead_tup AS dead, pg_total_relation_size(s.relid) AS size,
                greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed,
                greatest(s.last_analyze, s.last_autoanalyze) AS analyzed
            FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
            WHERE s.schemaname = current_schema()
        ) AS t GROUP BY t.name ORDER BY 4 DESC, 1
        """

    static let migrations: SQL = "SELECT \(AppliedMigration.columns) FROM schema_migrations ORDER BY version"
}
