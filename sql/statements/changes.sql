-- changes, 1
SELECT last_value FROM events_event_number_seq;

-- changes, 2
SELECT pg_current_snapshot()::text, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn(),
    (SELECT c.system_identifier FROM pg_control_system() AS c),
    (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()),
    'events'::regclass::oid::bigint,
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);

-- changes, 3
SELECT set_config('synchronous_commit', 'local', true), pg_logical_emit_message(true, 'pushreg', '');

-- changes, 4
SELECT pg_current_xact_id()::text;

-- changes, 5: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text, $6 bigint, $7 bigint
SELECT e.event_number, e.recorded_at, e.type, e.activity_id, e.installation_hash, e.aliases, e.token_kind, coalesce(e.attributes_type, a.attributes_type), a.end_reason::text FROM (
    SELECT * FROM events n
    WHERE n.scope_id = $1 AND n.event_number > $2 AND n.event_number <= $3
        AND NOT pg_visible_in_snapshot(n.transaction_id, $4::pg_snapshot)
        AND pg_visible_in_snapshot(n.transaction_id, $5::pg_snapshot)
    ORDER BY n.event_number LIMIT $6
) AS e
LEFT JOIN LATERAL (
    SELECT its.attributes_type, its.end_reason FROM activities its
    WHERE its.scope_id = $7 AND its.activity_id = e.activity_id
    LIMIT 1
) AS a ON true
ORDER BY e.event_number;

-- changes, 6: $1 bigint
SELECT a.events_dropped_to FROM apps a WHERE a.app_id = $1;
