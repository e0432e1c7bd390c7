-- Of large tables, :percent of the pages are sampled, always the same pages so that charts do not flicker. If :percent
-- is 100, all the scope's rows are read by an index. The condition on :percent also makes Citus pass this parameter to
-- workers.

-- name: counts.count-activities
-- Counts activities by state and age, and by their token's state and age, which are null if the activity is over or has
-- no token. Reads many rows. Indexes: activities_of_key, installations_pkey.
SELECT s.state, width_bucket(now() - r.started_at, :ages::interval[]) AS age,
    CASE WHEN s.state <> 'active' OR r.token IS NULL THEN NULL WHEN r.withheld IS NULL THEN 'current'
        WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END AS token_state,
    CASE WHEN s.state = 'active' AND r.token IS NOT NULL
        THEN width_bucket(now() - r.confirmed_at, :ages::interval[]) END AS token_age,
    count(*) AS count
FROM (
    SELECT a.*
    FROM activities a TABLESAMPLE SYSTEM (:percent::float8::real) REPEATABLE (7)
    WHERE a.scope_id = :scope AND :percent < 100
    UNION ALL
    SELECT a.*
    FROM activities a
    WHERE a.scope_id = :scope AND a.activity_key > 0 AND :percent >= 100
) AS r
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at
    FROM installations its
    WHERE its.scope_id = :scope AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        r.ended_at, r.started_at, r.expires_at, r.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
GROUP BY 1, 2, 3, 4;

-- name: counts.count-tokens
-- Counts installations' tokens by kind, state and age. Reads many rows. Index: installation_tokens_pkey.
SELECT r.kind,
    CASE WHEN r.withheld IS NULL THEN 'current' WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END
        AS state,
    width_bucket(now() - r.confirmed_at, :ages::interval[]) AS age, count(*) AS count
FROM (
    SELECT t.*
    FROM installation_tokens t TABLESAMPLE SYSTEM (:percent::float8::real) REPEATABLE (7)
    WHERE t.scope_id = :scope AND :percent < 100
    UNION ALL
    SELECT t.*
    FROM installation_tokens t
    WHERE t.scope_id = :scope AND :percent >= 100
) AS r
WHERE r.token IS NOT NULL
GROUP BY 1, 2, 3;

-- name: counts.count-events
-- Counts events by step and type, either the types that most requests write or all others. Reads many rows.
-- Index: events_pkey.
SELECT date_bin(:step::interval, r.recorded_at, '2020-01-01'::timestamptz) AS step, r.type, count(*) AS count
FROM (
    SELECT e.type, e.recorded_at
    FROM events e TABLESAMPLE SYSTEM (:percent::float8::real) REPEATABLE (7)
    WHERE e.scope_id = :scope AND e.recorded_at >= :since AND :percent < 100
    UNION ALL
    SELECT e.type, e.recorded_at
    FROM events e
    WHERE e.scope_id = :scope AND e.recorded_at >= :since AND :percent >= 100
) AS r
WHERE (r.type IN ('registered', 'rotated', 'ended', 'expired', 'dismissed')) = :are_common
GROUP BY 1, 2;

-- name: counts.count-rare-events
-- Counts events of rare types, up to a limit. Reads many rows. Index: events_rare.
SELECT date_bin(:step::interval, r.recorded_at, '2020-01-01'::timestamptz) AS step, r.type, count(*) AS count
FROM (
    SELECT e.type, e.recorded_at
    FROM events e
    WHERE e.scope_id = :scope AND e.type NOT IN ('registered', 'rotated', 'ended', 'expired', 'dismissed')
        AND e.recorded_at >= :since
    LIMIT :limit
) AS r
GROUP BY 1, 2;

-- name: counts.estimate-rows
-- Estimates a table's rows, partitions included: current pages times the rows per page at the last ANALYZE, at least
-- one. Without ANALYZE, the size decides. A table that was empty at its last ANALYZE is therefore not considered small.
SELECT coalesce(sum(pg_relation_size(c.oid)::float8
    * CASE WHEN c.reltuples >= 0 AND c.relpages > 0
        THEN greatest(c.reltuples, c.relpages)::float8 / c.relpages / current_setting('block_size')::float8
        ELSE 1 / 300.0 END)::float8, 0) AS rows
FROM pg_class c
WHERE c.relkind = 'r' AND c.oid = ANY(ARRAY(
    SELECT :table::text::regclass::oid
    UNION ALL
    SELECT p.relid::oid FROM pg_partition_tree(:table::text::regclass) p
));

-- name: counts.insert
-- Stores the counts of this minute, unless another instance was first. Index: counts_pkey.
INSERT INTO counts (scope_id, counted_at, is_estimated, ages, swept_to)
VALUES (:scope, date_trunc('minute', now()), :is_estimated, :ages, :swept_to)
ON CONFLICT DO NOTHING;

-- name: counts.read-latest
-- Reads the latest counts. Index: counts_pkey.
SELECT c.counted_at, c.is_estimated, c.ages, now() - c.counted_at AS age,
    c.counted_at >= date_trunc('minute', now()) AS is_current
FROM counts c
WHERE c.scope_id = :scope
ORDER BY c.counted_at DESC
LIMIT 1;

-- name: counts.read-since
-- Reads the counts since a time. Index: counts_pkey.
SELECT c.counted_at, c.is_estimated, c.ages
FROM counts c
WHERE c.scope_id = :scope AND c.counted_at >= :since
ORDER BY c.counted_at;

-- name: counts.thin-out
-- Keeps the last row of every five minutes after an hour, the last row of every hour after 25 hours, and none after 31
-- days. Index: counts_pkey.
DELETE FROM counts c
WHERE c.scope_id = :scope AND (
    c.counted_at < now() - interval '31 days'
    OR c.counted_at < now() - interval '1 hour' AND EXISTS (
        SELECT FROM counts later
        CROSS JOIN (
            SELECT CASE WHEN c.counted_at < now() - interval '25 hours' THEN interval '1 hour' ELSE '5 minutes' END
        ) AS steps (step)
        WHERE later.scope_id = :scope AND later.counted_at > c.counted_at
            AND later.counted_at < date_bin(steps.step, c.counted_at, '2020-01-01'::timestamptz) + steps.step
    )
);

-- name: counts.list-scopes
SELECT s.scope_id, s.environment::text, now() - app.created_at AS age
FROM scopes s
JOIN apps app ON app.app_id = s.app_id
ORDER BY s.scope_id;

-- name: counts.count-guards
SELECT count(*) AS count
FROM quarantine_guards g
WHERE g.tripped_at IS NOT NULL AND g.reported_at > now() - :window::interval;
