-- token counts, 1
SELECT EXISTS (SELECT FROM apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment) WHERE true AND NOT EXISTS (
    SELECT FROM token_counts c
    WHERE c.app_number = p.app_number AND c.environment = e.environment
        AND c.counted_at = date_bin('5 minutes', now(), '2020-01-01'::timestamptz)
));

-- token counts, 2: $1 double precision, $2 double precision
INSERT INTO token_counts (
    app_number, environment, counted_at, counts
)
WITH given (
    app_number, environment, counted_at, counts
) AS MATERIALIZED (
SELECT p.app_number, e.environment, date_bin('5 minutes', now(), '2020-01-01'::timestamptz), coalesce(found.counts, '{}')
FROM apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
LEFT JOIN (
    SELECT k.app_number, k.environment, jsonb_object_agg(k.kind, k.count) AS counts FROM (
        SELECT r.app_number, r.environment, 'update' AS kind, round(count(*) * 100 / $1)::bigint AS count
FROM activities AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM activity_verdicts its WHERE its.place = r.ctid  LIMIT 1
) AS v
WHERE v.verdict IS NULL AND true
GROUP BY 1, 2, 3
        UNION ALL SELECT r.app_number, r.environment, r.kind AS kind, round(count(*) * 100 / $2)::bigint AS count
FROM installation_tokens AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM installation_token_verdicts its WHERE its.place = r.ctid  LIMIT 1
) AS v
WHERE v.verdict IS NULL AND true
GROUP BY 1, 2, 3
    ) AS k
    GROUP BY 1, 2
) AS found ON found.app_number = p.app_number AND found.environment = e.environment
WHERE true
)
SELECT * FROM given
ON CONFLICT DO NOTHING;

-- token counts, 3
DELETE FROM token_counts c
WHERE true AND (
    c.counted_at < now() - interval '31 days' OR c.counted_at < now() - interval '25 hours' AND EXISTS (
        SELECT FROM token_counts later
        WHERE later.app_number = c.app_number AND later.environment = c.environment
            AND later.counted_at > c.counted_at
            AND later.counted_at < date_bin('1 hour', c.counted_at, '2020-01-01'::timestamptz) + interval '1 hour'
    )
);
