-- census, 1
SELECT r.environment::text, v.state,
    CASE WHEN v.state = 'active' AND r.token IS NOT NULL THEN CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END END, count(*)
FROM activities AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM activity_verdicts its WHERE its.place = r.ctid  LIMIT 1
) AS v
WHERE true
GROUP BY 1, 2, 3;

-- census, 2
SELECT r.environment::text, r.kind, CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END, count(*)
FROM installation_tokens AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM installation_token_verdicts its WHERE its.place = r.ctid  LIMIT 1
) AS v
WHERE r.token IS NOT NULL AND true
GROUP BY 1, 2, 3;

-- census, 3
SELECT now() - min(oldest.expires_at) FROM apps p
CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
CROSS JOIN LATERAL (
    SELECT a.expires_at FROM activities a
    WHERE a.app_number = p.app_number AND a.environment = e.environment AND a.ended_at IS NULL
        AND a.expiry_recorded_at IS NULL
    ORDER BY a.expires_at LIMIT 1
) AS oldest
WHERE true AND oldest.expires_at <= now();

-- census, 4
SELECT count(*) FROM quarantine_guards g
WHERE (g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes') AND true;

-- census, 5
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0);
