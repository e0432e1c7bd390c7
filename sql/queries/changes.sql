-- The change feed: a snapshot cut of the audit trail. A page has the events that one snapshot sees and an earlier one does not.

-- name: changes.read-last-number
SELECT last_value AS number FROM events_event_number_seq;

-- name: changes.read-moment
-- The present snapshot, whether its commits survive a crash, and the identity of this database, which a restored one and a promoted
-- standby do not share.
SELECT pg_current_snapshot()::text AS snapshot,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS time,
    pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() AS is_flushed,
    (SELECT c.system_identifier FROM pg_control_system() AS c) AS system,
    (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()) AS database,
    'events'::regclass::oid::bigint AS events,
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline;

-- name: changes.flush
-- Writes and flushes an unread message, and with it all earlier writes. It waits for no standby: a position is not valid on a
-- promoted one anyway.
SELECT set_config('synchronous_commit', 'local', true), pg_logical_emit_message(true, 'pushreg', '');

-- name: changes.read-mark
-- An id that is later than those of all transactions that drew numbers so far.
SELECT pg_current_xact_id()::text AS transaction;

-- name: changes.read-last-dropped
-- The greatest number of an app's events that were dropped. Index: apps_pkey.
SELECT a.events_dropped_to FROM apps a WHERE a.app_id = :app;

-- name: changes.read-page
-- A page in the order of the events' numbers. Indexes: events_pkey, activities_pkey.
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
