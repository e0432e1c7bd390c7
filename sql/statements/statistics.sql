-- statistics, 1: the same as counts, 3

-- statistics, 2: $1 interval, $2 bigint, $3 text, $4 timestamp with time zone, $5 text[]
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*)
FROM events AS e TABLESAMPLE SYSTEM (5.0) REPEATABLE (7)
WHERE e.app_number = $2 AND e.environment = $3::apns_environment AND e.recorded_at >= $4
    AND e.type = ANY($5)
GROUP BY 1, 2;

-- statistics, 3: $1 interval, $2 bigint, $3 text, $4 timestamp with time zone, $5 text[]
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*)
FROM events AS e TABLESAMPLE SYSTEM (5.0) REPEATABLE (7)
WHERE e.app_number = $2 AND e.environment = $3::apns_environment AND e.recorded_at >= $4
    AND e.type <> ALL($5)
GROUP BY 1, 2;

-- statistics, 4: $1 interval, $2 bigint, $3 text, $4 timestamp with time zone, $5 bigint
SELECT date_bin($1, e.recorded_at, '2020-01-01'::timestamptz), e.type, count(*) FROM (
    SELECT e.type, e.recorded_at FROM events e
    WHERE e.app_number = $2 AND e.environment = $3::apns_environment AND e.type NOT IN ('dismissed', 'ended', 'expired', 'registered', 'rotated') AND e.recorded_at >= $4
    LIMIT $5
) AS e
GROUP BY 1, 2;

-- statistics, 5: $1 bigint, $2 text, $3 timestamp with time zone
SELECT c.counted_at, c.is_estimated, c.ages
FROM counts c WHERE c.app_number = $1 AND c.environment = $2::apns_environment AND c.counted_at >= $3 ORDER BY c.counted_at;
