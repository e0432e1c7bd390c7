-- totals on Citus, 1: $1 bigint, $2 bigint
SELECT e.environment::text, greatest(now() - coalesce(latest.counted_at, p.created_at), '0'), latest.ages
FROM apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
LEFT JOIN LATERAL (
    SELECT c.counted_at, c.ages FROM counts c
    WHERE c.app_number = $1 AND c.environment = e.environment
    ORDER BY c.counted_at DESC LIMIT 1
) AS latest ON true
WHERE p.app_number = $2;

-- totals on Citus, 2: $1 bigint, $2 bigint
SELECT now() - min(oldest.expires_at) FROM apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
CROSS JOIN LATERAL (
    SELECT a.expires_at FROM activities a
    WHERE a.app_number = $1 AND a.environment = e.environment AND a.ended_at IS NULL
        AND a.expiry_recorded_at IS NULL
    ORDER BY a.expires_at LIMIT 1
) AS oldest
WHERE p.app_number = $2 AND oldest.expires_at <= now();

-- totals on Citus, 3: $1 bigint
SELECT count(*) FROM quarantine_guards g
WHERE (g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes') AND g.app_number = $1;
