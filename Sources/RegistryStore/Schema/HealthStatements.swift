import PostgresDriver

/// The statements that ask Postgres how it does; they read its statistics and no table of ours.
enum HealthStatements {
    static let server: SQL = """
        SELECT pg_postmaster_start_time(), pg_database_size(current_database()),
            (SELECT max(clock_timestamp() - s.xact_start) FROM pg_stat_activity s
                WHERE s.datname = current_database() AND s.state <> 'idle' AND s.pid <> pg_backend_pid()),
            (SELECT count(*) FROM pg_stat_activity s
                WHERE s.datname = current_database() AND s.wait_event_type = 'Lock'),
            d.blks_hit, d.blks_read, d.deadlocks, d.xact_commit, d.xact_rollback,
            current_setting('synchronous_standby_names'),
            (SELECT count(*) FROM pg_stat_replication r WHERE r.state = 'streaming')
        FROM pg_stat_database d WHERE d.datname = current_database()
        """

    /// The tables by their size, with all partitions of one together.
    static let tables: SQL = """
        SELECT t.name, sum(t.rows)::bigint, sum(t.dead)::bigint, sum(t.size)::bigint, max(t.vacuumed), max(t.analyzed)
        FROM (
            SELECT CASE WHEN c.relispartition THEN 'events' ELSE s.relname::text END AS name, s.n_live_tup AS rows,
                s.n_dead_tup AS dead, pg_total_relation_size(s.relid) AS size,
                greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed,
                greatest(s.last_analyze, s.last_autoanalyze) AS analyzed
            FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
            WHERE s.schemaname = current_schema()
        ) AS t GROUP BY t.name ORDER BY 4 DESC, 1
        """

    static let migrations: SQL = "SELECT version, name, checksum, applied_at FROM schema_migrations ORDER BY version"
}
