-- condition of the database, 1
SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
    current_setting('transaction_read_only')::boolean,
    current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean,
    (SELECT coalesce(sum(numbackends), 0)::bigint FROM pg_stat_database),
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint;

-- condition of the database, 2
SELECT clock_timestamp();

-- condition of the database, 3
SELECT s.relname::text, s.n_dead_tup
FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
WHERE s.schemaname = current_schema() AND s.n_dead_tup > 10000
    AND s.n_dead_tup > 2 * (current_setting('autovacuum_vacuum_threshold')::float8
        + current_setting('autovacuum_vacuum_scale_factor')::float8 * greatest(c.reltuples, 0))
ORDER BY s.n_dead_tup DESC;

-- condition of the database, 4
SELECT pg_postmaster_start_time(), pg_database_size(current_database()), (SELECT max(clock_timestamp() - s.xact_start) FROM pg_stat_activity s
    WHERE s.datname = current_database() AND s.state <> 'idle' AND s.pid <> pg_backend_pid()), (SELECT count(*) FROM pg_stat_activity s
    WHERE s.datname = current_database() AND s.wait_event_type = 'Lock'), d.blks_hit, d.blks_read, d.deadlocks, d.xact_commit, d.xact_rollback, current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication r WHERE r.state = 'streaming') FROM pg_stat_database d WHERE d.datname = current_database();

-- condition of the database, 5
SELECT t.name, sum(t.rows)::bigint, sum(t.dead)::bigint, sum(t.size)::bigint, max(t.vacuumed), max(t.analyzed)
FROM (
    SELECT CASE WHEN c.relispartition THEN 'events' ELSE s.relname::text END AS name, s.n_live_tup AS rows,
        s.n_dead_tup AS dead, pg_total_relation_size(s.relid) AS size,
        greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed,
        greatest(s.last_analyze, s.last_autoanalyze) AS analyzed
    FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
    WHERE s.schemaname = current_schema()
) AS t GROUP BY t.name ORDER BY 4 DESC, 1;

-- condition of the database, 6
SELECT version, name, checksum, applied_at FROM schema_migrations ORDER BY version;
