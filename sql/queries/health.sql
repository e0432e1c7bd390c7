-- Postgres's statistics, and the list of migrations.

-- name: health.read-server
SELECT pg_postmaster_start_time() AS started_at, pg_database_size(current_database()) AS database_size,
    (
        SELECT max(clock_timestamp() - s.xact_start)
        FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.state <> 'idle' AND s.pid <> pg_backend_pid()
    ) AS longest_transaction,
    (
        SELECT count(*)
        FROM pg_stat_activity s
        WHERE s.datname = current_database() AND s.wait_event_type = 'Lock'
    ) AS waiting_for_locks,
    d.blks_hit, d.blks_read, d.deadlocks, d.xact_commit, d.xact_rollback,
    current_setting('synchronous_standby_names') AS synchronous_standbys,
    (SELECT count(*) FROM pg_stat_replication r WHERE r.state = 'streaming') AS standbys
FROM pg_stat_database d
WHERE d.datname = current_database();

-- name: health.list-tables
-- Lists the schema's tables, largest first, with all partitions of events as one. Reads many rows.
SELECT t.name, sum(t.rows)::bigint AS rows, sum(t.dead)::bigint AS dead, sum(t.size)::bigint AS size,
    max(t.vacuumed) AS vacuumed, max(t.analyzed) AS analyzed
FROM (
    SELECT CASE WHEN c.relispartition THEN 'events' ELSE s.relname::text END AS name, s.n_live_tup AS rows,
        s.n_dead_tup AS dead, pg_total_relation_size(s.relid) AS size,
        greatest(s.last_vacuum, s.last_autovacuum) AS vacuumed,
        greatest(s.last_analyze, s.last_autoanalyze) AS analyzed
    FROM pg_stat_user_tables s
    JOIN pg_class c ON c.oid = s.relid
    WHERE s.schemaname = current_schema()
) AS t
GROUP BY t.name
ORDER BY size DESC, t.name;

-- name: health.list-migrations
SELECT m.version, m.name, m.checksum, m.applied_at FROM schema_migrations m ORDER BY m.version;
