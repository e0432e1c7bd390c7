-- The change feed. A page contains the events visible in one snapshot but not in an earlier one.

-- name: changes.read-last-number
SELECT s.last_value AS number, s.is_called FROM events_event_number_seq s;

-- name: changes.read-moment
-- Reads the present snapshot, whether its commits are flushed, and the identity of this database, which restored
-- databases and promoted standbys do not share.
SELECT pg_current_snapshot()::text AS snapshot,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time,
    pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() AS is_flushed,
    (SELECT c.system_identifier FROM pg_control_system() AS c) AS system,
    (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()) AS database,
    'events'::regclass::oid::bigint AS events,
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline;

-- name: changes.flush
-- Flushes all earlier writes, by means of an unread message. Does not wait for a standby, because a position is not
-- valid on a promoted one.
SELECT set_config('synchronous_commit', 'local', true), pg_logical_emit_message(true, 'pushreg', '');

-- name: changes.read-mark
-- A transaction id later than the ids of all transactions that have drawn numbers.
SELECT pg_current_xact_id()::text AS transaction;

-- name: changes.read-last-dropped
-- The greatest number of an app's dropped events. Index: apps_pkey.
SELECT a.events_dropped_to FROM apps a WHERE a.app_id = :app;

-- name: changes.read-page
-- One page in the order of event numbers. Indexes: events_pkey, activities_pkey.
SELECT e.event_number, e.recorded_at, e.type, e.activity_id, e.installation_hash, e.aliases, e.token_kind,
    coalesce(e.attributes_type, a.attributes_type) AS attributes_type, a.end_reason::text
FROM (
    SELECT *
    FROM events n
    WHERE n.scope_id = :scope AND n.event_number > :after AND n.event_number <= :through
        AND NOT pg_visible_in_snapshot(n.transaction_id, :since::text::pg_snapshot)
        AND pg_visible_in_snapshot(n.transaction_id, :until::text::pg_snapshot)
    ORDER BY n.event_number
    LIMIT :limit
) AS e
LEFT JOIN LATERAL (
    SELECT its.attributes_type, its.end_reason
    FROM activities its
    WHERE its.scope_id = :scope AND its.activity_id = e.activity_id
    LIMIT 1
) AS a ON true
ORDER BY e.event_number;
