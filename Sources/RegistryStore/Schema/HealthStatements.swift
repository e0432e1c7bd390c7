import PostgresDriver

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
