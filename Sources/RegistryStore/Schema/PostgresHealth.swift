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

extension PostgresHealth.Server {
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

/// They read Postgres's statistics and no table of ours.
enum HealthStatements {
    static let server: SQL = """
        SELECT \(PostgresHealth.Server.columns) FROM pg_stat_database d WHERE d.datname = current_database()
        """

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
