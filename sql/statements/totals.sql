-- totals, 1
SELECT s.environment::text, greatest(now() - coalesce(latest.counted_at, app.created_at), '0'), latest.ages
FROM scopes s JOIN apps app ON app.app_id = s.app_id
LEFT JOIN LATERAL (
    SELECT c.counted_at, c.ages FROM counts c
    WHERE c.scope_id = s.scope_id
    ORDER BY c.counted_at DESC LIMIT 1
) AS latest ON true
WHERE true;

-- totals, 2
SELECT now() - min(oldest.expires_at) FROM scopes s JOIN apps app ON app.app_id = s.app_id
CROSS JOIN LATERAL (
    SELECT a.expires_at FROM activities a
    WHERE a.scope_id = s.scope_id AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL
    ORDER BY a.expires_at LIMIT 1
) AS oldest
WHERE true AND oldest.expires_at <= now();

-- totals, 3: $1 interval
SELECT count(*) FROM quarantine_guards g
WHERE g.tripped_at IS NOT NULL AND g.reported_at > now() - $1
    AND true;

-- totals, 4
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0);
