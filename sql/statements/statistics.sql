-- statistics, 1: $1 text[]
SELECT q.name, coalesce((SELECT sum(pg_relation_size(c.oid)::float8
        * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
            THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
            ELSE 1 / 300.0 END)::float8
    FROM pg_class c WHERE c.relkind = 'r' AND (c.oid = q.name::regclass
        OR c.oid IN (SELECT p.relid FROM pg_partition_tree(q.name::regclass) p))), 0)
FROM unnest($1) WITH ORDINALITY AS q (name, position) ORDER BY q.position;

-- statistics, 2: $1 bigint, $2 text
SELECT v.state, width_bucket(now() - r.started_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]),
    CASE WHEN v.verdict IS NULL THEN width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]) END, count(*)
FROM activities AS r CROSS JOIN LATERAL (
    SELECT * FROM activity_verdicts its WHERE its.place = r.ctid LIMIT 1
) AS v WHERE r.app_number = $1 AND r.environment = $2::apns_environment
GROUP BY 1, 2, 3;

-- statistics, 3: $1 bigint, $2 text
SELECT r.kind, width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]), count(*)
FROM installation_tokens AS r CROSS JOIN LATERAL (
    SELECT * FROM installation_token_verdicts its WHERE its.place = r.ctid LIMIT 1
) AS v WHERE r.app_number = $1 AND r.environment = $2::apns_environment AND v.verdict IS NULL
GROUP BY 1, 2;

-- statistics, 4: $1 double precision, $2 bigint, $3 text
SELECT v.state, width_bucket(now() - r.started_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]),
    CASE WHEN v.verdict IS NULL THEN width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]) END, count(*)
FROM activities AS r TABLESAMPLE SYSTEM ($1) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM activity_verdicts its WHERE its.place = r.ctid LIMIT 1
) AS v WHERE r.app_number = $2 AND r.environment = $3::apns_environment
GROUP BY 1, 2, 3;

-- statistics, 5: $1 double precision, $2 bigint, $3 text
SELECT r.kind, width_bucket(now() - r.confirmed_at, ARRAY['900 seconds'::interval, '3600 seconds'::interval, '7200 seconds'::interval, '14400 seconds'::interval, '28800 seconds'::interval, '86400 seconds'::interval, '604800 seconds'::interval, '2592000 seconds'::interval]), count(*)
FROM installation_tokens AS r TABLESAMPLE SYSTEM ($1) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM installation_token_verdicts its WHERE its.place = r.ctid LIMIT 1
) AS v WHERE r.app_number = $2 AND r.environment = $3::apns_environment AND v.verdict IS NULL
GROUP BY 1, 2;

-- statistics, 6: $1 interval, $2 double precision, $3 bigint, $4 text, $5 timestamp with time zone, $6 text[]
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*)
FROM events AS e TABLESAMPLE SYSTEM ($2) REPEATABLE (7)
WHERE e.app_number = $3 AND e.environment = $4::apns_environment AND e.recorded_at >= $5 AND e.type = ANY($6)
GROUP BY 1, 2;

-- statistics, 7: $1 interval, $2 bigint, $3 text, $4 timestamp with time zone, $5 bigint
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*) FROM (
    SELECT e.type, e.recorded_at FROM events e
    WHERE e.app_number = $2 AND e.environment = $3::apns_environment AND e.type NOT IN ('dismissed', 'ended', 'expired', 'registered', 'rotated') AND e.recorded_at >= $4
    LIMIT $5
) AS e
GROUP BY 1, 2;

-- statistics, 8: $1 bigint, $2 text, $3 timestamp with time zone
SELECT c.counted_at, k.kind, k.count::bigint
FROM token_counts c LEFT JOIN LATERAL jsonb_each_text(c.counts) AS k (kind, count) ON true
WHERE c.app_number = $1 AND c.environment = $2::apns_environment AND c.counted_at >= $3
ORDER BY c.counted_at;
