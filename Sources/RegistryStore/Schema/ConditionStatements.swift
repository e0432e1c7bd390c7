import PostgresDriver

/// The statements that ask Postgres how it is. They need no schema and no privileges.
enum ConditionStatements {
    /// The values that ``DatabaseCondition`` reads, in its order. Others' sessions are hidden from most roles, their
    /// number is not.
    static let settings: SQL = """
        SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
            current_setting('transaction_read_only')::boolean,
            current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean,
            (SELECT coalesce(sum(numbackends), 0)::bigint FROM pg_stat_database),
            current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
        """

    static let clock: SQL = "SELECT clock_timestamp()"

    /// Tables whose dead rows are twice as many as those at which autovacuum should have come (its documentation: a
    /// threshold and a share of the rows), and enough of them that it is no matter of a minute.
    static let neglectedTables: SQL = """
        SELECT s.relname::text, s.n_dead_tup
        FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
        WHERE s.schemaname = current_schema() AND s.n_dead_tup > 10000
            AND s.n_dead_tup > 2 * (current_setting('autovacuum_vacuum_threshold')::float8
                + current_setting('autovacuum_vacuum_scale_factor')::float8 * greatest(c.reltuples, 0))
        ORDER BY s.n_dead_tup DESC
        """
}
