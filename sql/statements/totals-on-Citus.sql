-- totals on Citus, 1: $1 bigint, $2 bigint
SELECT s.environment::text, greatest(now() - coalesce(latest.counted_at, app.created_at), '0'), latest.ages
FROM scopes s JOIN apps app ON app.app_id = s.app_id
LEFT JOIN LATERAL (
    SELECT c.counted_at, c.ages FROM counts c
    WHERE c.scope_id = $1
    ORDER BY c.counted_at DESC LIMIT 1
) AS latest ON true
WHERE s.scope_id = $2;

-- totals on Citus, 2: $1 bigint, $2 bigint
SELECT now() - min(oldest.expires_at) FROM scopes s JOIN apps app ON app.app_id = s.app_id
CROSS JOIN LATERAL (
    SELECT a.expires_at FROM activities a
    WHERE a.scope_id = $1 AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL
    ORDER BY a.expires_at LIMIT 1
) AS oldest
WHERE s.scope_id = $2 AND oldest.expires_at <= now();

-- totals on Citus, 3: $1 interval, $2 bigint
SELECT count(*) FROM quarantine_guards g
WHERE g.tripped_at IS NOT NULL AND g.reported_at > now() - $1
    AND g.scope_id = $2;
