-- counts, 1: $1 bigint
SELECT c.counted_at, c.is_estimated, c.ages
FROM counts c WHERE c.scope_id = $1 AND c.counted_at >= date_trunc('minute', now());

-- counts, 2: $1 bigint
SELECT c.counted_at, c.is_estimated, c.ages
FROM counts c WHERE c.scope_id = $1 ORDER BY c.counted_at DESC LIMIT 1;

-- counts, 3: $1 text, $2 text
SELECT coalesce(sum(pg_relation_size(c.oid)::float8
    * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
        THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
        ELSE 1 / 300.0 END)::float8, 0)
FROM pg_class c WHERE c.relkind = 'r' AND (c.oid = $1::regclass
    OR c.oid IN (SELECT p.relid FROM pg_partition_tree($2::regclass) p));

-- counts, 4: $1 bigint, $2 bigint
SELECT s.state, width_bucket(now() - r.started_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]),
    CASE WHEN s.state = 'active' AND r.token IS NOT NULL THEN CASE WHEN r.withheld IS NULL THEN 'current' WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END END,
    CASE WHEN s.state = 'active' AND r.token IS NOT NULL THEN width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]) END,
    count(*)
FROM activities AS r LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $1 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true CROSS JOIN LATERAL (
    SELECT activity_state(
        r.ended_at, r.started_at, r.expires_at, r.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
WHERE r.scope_id = $2 AND r.activity_key > 0
GROUP BY 1, 2, 3, 4;

-- counts, 5: $1 bigint
SELECT r.kind, CASE WHEN r.withheld IS NULL THEN 'current' WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END, width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]), count(*)
FROM installation_tokens AS r
WHERE r.scope_id = $1 AND r.token IS NOT NULL
GROUP BY 1, 2, 3;

-- counts, 6: $1 bigint, $2 bigint
SELECT s.state, width_bucket(now() - r.started_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]),
    CASE WHEN s.state = 'active' AND r.token IS NOT NULL THEN CASE WHEN r.withheld IS NULL THEN 'current' WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END END,
    CASE WHEN s.state = 'active' AND r.token IS NOT NULL THEN width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]) END,
    count(*)
FROM activities AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $1 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true CROSS JOIN LATERAL (
    SELECT activity_state(
        r.ended_at, r.started_at, r.expires_at, r.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
WHERE r.scope_id = $2 AND r.activity_key > 0
GROUP BY 1, 2, 3, 4;

-- counts, 7: $1 bigint
SELECT r.kind, CASE WHEN r.withheld IS NULL THEN 'current' WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END, width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]), count(*)
FROM installation_tokens AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7)
WHERE r.scope_id = $1 AND r.token IS NOT NULL
GROUP BY 1, 2, 3;

-- counts, 8: $1 bigint, $2 boolean, $3 jsonb
INSERT INTO counts (scope_id, counted_at, is_estimated, ages)
VALUES ($1, date_trunc('minute', now()), $2, $3)
ON CONFLICT DO NOTHING;

-- counts, 9: $1 bigint, $2 bigint, $3 bigint
DELETE FROM counts c WHERE c.scope_id = $1 AND (
    c.counted_at < now() - interval '31 days'
    OR c.counted_at < now() - interval '25 hours' AND EXISTS (
    SELECT FROM counts later WHERE later.scope_id = $2
        AND later.counted_at > c.counted_at AND later.counted_at < date_bin('1 hour', c.counted_at, '2020-01-01'::timestamptz) + interval '1 hour'
)
    OR c.counted_at < now() - interval '1 hour' AND EXISTS (
    SELECT FROM counts later WHERE later.scope_id = $3
        AND later.counted_at > c.counted_at AND later.counted_at < date_bin('5 minutes', c.counted_at, '2020-01-01'::timestamptz) + interval '5 minutes'
)
);
