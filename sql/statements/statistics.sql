-- statistics, 1: the same as counts, 3

-- statistics, 2: $1 interval, $2 bigint, $3 timestamp with time zone, $4 text[]
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*)
FROM events AS e TABLESAMPLE SYSTEM (5.0) REPEATABLE (7)
WHERE e.scope_id = $2 AND e.recorded_at >= $3
    AND e.type = ANY($4)
GROUP BY 1, 2;

-- statistics, 3: $1 interval, $2 bigint, $3 timestamp with time zone, $4 text[]
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*)
FROM events AS e TABLESAMPLE SYSTEM (5.0) REPEATABLE (7)
WHERE e.scope_id = $2 AND e.recorded_at >= $3
    AND e.type <> ALL($4)
GROUP BY 1, 2;

-- statistics, 4: $1 interval, $2 bigint, $3 timestamp with time zone, $4 bigint
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*) FROM (
    SELECT e.type, e.recorded_at FROM events e
    WHERE e.scope_id = $2 AND e.type NOT IN ('dismissed', 'ended', 'expired', 'registered', 'rotated') AND e.recorded_at >= $3
    LIMIT $4
) AS e
GROUP BY 1, 2;

-- statistics, 5: $1 bigint, $2 timestamp with time zone
SELECT c.counted_at, c.is_estimated, c.ages
FROM counts c WHERE c.scope_id = $1 AND c.counted_at >= $2 ORDER BY c.counted_at;
