-- plan on Citus, 1: $1 bigint, $2 text, $3 text, $4 text, $5 bytea, $6 text, $7 interval, $8 bytea, $9 bytea[], $10 bigint, $11 interval, $12 bigint, $13 bigint, $14 text, $15 text, $16 bigint, $17 bigint, $18 text, $19 text, $20 bigint, $21 text, $22 text, $23 boolean, $24 bytea, $25 interval, $26 text, $27 bigint
INSERT INTO start_leases AS stored (
    scope_id, installation_hash, kind, value, attributes_type, lease_id, plan_id, leased_at, leased_until,
attempted_at, registered_at, touched_at
)
WITH given (
    scope_id, installation_hash, kind, value, attributes_type, lease_id, plan_id, leased_at, leased_until,
attempted_at, registered_at, touched_at
) AS MATERIALIZED (
SELECT $1, found.installation_hash, $2, $3,
    $4, substr(sha256($5 || found.installation_hash), 1, 16), $6::text, now(),
    now() + $7, ARRAY[now()], found.registered_at, now()
FROM (SELECT q.installation_hash, bearing.running, bearing.registered_at, st.token AS start_token,
    CASE ruled.ruling WHEN 'token-pending' THEN cur.created_at + interval '1 minute'
        WHEN 'leased' THEN l.leased_until WHEN 'back-off' THEN l.retry_at END AS retry_at, ruled.ruling, l.lease_id, l.plan_id, l.leased_at, l.leased_until, l.attempted_at, coalesce(l.lease_id = substr(sha256($8 || q.installation_hash), 1, 16), false) AS is_ours
FROM unnest($9) AS q (installation_hash)
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $10 AND its.installation_hash = q.installation_hash LIMIT 1
) AS phone ON true
CROSS JOIN LATERAL (
    SELECT max(b.activity_key) FILTER (WHERE b.state = 'active') AS running,
        -- Of one that is over by the times, a late repetition says nothing.
        max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
            CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
        coalesce((array_agg(b.end_reason = 'dismissed'
                AND b.expires_at > now() - $11
            ORDER BY b.started_at DESC, b.activity_key DESC))[1], false) AS was_dismissed
    FROM (
        SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
            phone.removed_at, phone.full_state_at) AS state
        FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
            SELECT * FROM activities a
            WHERE a.scope_id = $12 AND a.installation_hash = q.installation_hash
                AND (a.ended_at IS NULL) = kept.runs
            ORDER BY a.activity_key DESC LIMIT $13
        ) AS own
        WHERE own.aliases -> $14 ? $15
    ) AS b
) AS bearing
LEFT JOIN LATERAL (
    SELECT its.reason, its.created_at, its.activity_key FROM explained_activities its
    WHERE its.scope_id = $16 AND its.activity_key = bearing.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $17 AND its.installation_hash = q.installation_hash
        AND its.kind = $18 AND its.value = $19 LIMIT 1
) AS l ON true
LEFT JOIN LATERAL (
    SELECT its.token, its.confirmed_at FROM deliverable_installation_tokens its
    WHERE its.scope_id = $20 AND its.installation_hash = q.installation_hash
        AND its.kind = $21 AND its.attributes_type = $22 LIMIT 1
) AS st ON true
CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN cur.activity_key IS NOT NULL THEN CASE WHEN cur.reason IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END
WHEN bearing.was_dismissed AND NOT $23 THEN 'dismissed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND NOT coalesce(l.plan_id = asked.plan_id, false)) AND NOT coalesce(l.lease_id = substr(sha256($24 || q.installation_hash), 1, 16), false) THEN 'leased'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND cardinality(l.attempted_at) >= 3
AND l.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > now() AT TIME ZONE 'UTC') THEN 'start-failed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND coalesce(l.retry_at > now(), false)) THEN 'back-off'
WHEN st.confirmed_at > now() - $25 THEN 'start'
WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
FROM (SELECT $26::text AS plan_id) AS asked) AS ruling) AS ruled
WHERE coalesce(bearing.running > $27, true)) AS found WHERE found.ruling = 'start' ORDER BY found.installation_hash
)
SELECT * FROM given
ON CONFLICT (installation_hash, scope_id, kind, value) DO UPDATE SET
    attributes_type = CASE WHEN (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.plan_id = excluded.plan_id, false)) THEN stored.attributes_type ELSE excluded.attributes_type END,
    lease_id = CASE WHEN (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.plan_id = excluded.plan_id, false)) THEN stored.lease_id ELSE excluded.lease_id END,
    leased_at = CASE WHEN (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.plan_id = excluded.plan_id, false)) THEN stored.leased_at ELSE excluded.leased_at END,
    leased_until = CASE WHEN (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.plan_id = excluded.plan_id, false)) THEN stored.leased_until ELSE excluded.leased_until END,
    attempted_at = CASE WHEN (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.plan_id = excluded.plan_id, false)) THEN stored.attempted_at
        WHEN coalesce(excluded.registered_at > stored.leased_at, false) THEN excluded.attempted_at
        ELSE (stored.attempted_at || excluded.attempted_at)[greatest(cardinality(stored.attempted_at) - 1, 1):] END,
    plan_id = excluded.plan_id, failed_at = NULL, failure = NULL, retry_at = NULL, released_at = NULL,
    registered_at = excluded.registered_at, touched_at = excluded.touched_at
WHERE NOT (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND NOT coalesce(stored.plan_id = excluded.plan_id, false)) AND NOT (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND NOT (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND cardinality(stored.attempted_at) >= 3
AND stored.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > excluded.leased_at AT TIME ZONE 'UTC')
    AND NOT (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND NOT (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.retry_at > excluded.leased_at, false));

-- plan on Citus, 2: $1 bytea, $2 bytea[], $3 bigint, $4 interval, $5 bigint, $6 bigint, $7 text, $8 text, $9 bigint, $10 bigint, $11 text, $12 text, $13 bigint, $14 text, $15 text, $16 boolean, $17 bytea, $18 interval, $19 text, $20 bigint, $21 text, $22 bigint, $23 bigint, $24 text
SELECT p.ruling, p.installation_hash, p.retry_at, p.start_token, p.lease_id, p.leased_until, p.attempt, dt.token, cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT q.installation_hash, bearing.running, bearing.registered_at, st.token AS start_token,
    CASE ruled.ruling WHEN 'token-pending' THEN cur.created_at + interval '1 minute'
        WHEN 'leased' THEN l.leased_until WHEN 'back-off' THEN l.retry_at END AS retry_at, ruled.ruling, l.lease_id, l.plan_id, l.leased_at, l.leased_until, l.attempted_at, coalesce(l.lease_id = substr(sha256($1 || q.installation_hash), 1, 16), false) AS is_ours
FROM unnest($2) AS q (installation_hash)
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $3 AND its.installation_hash = q.installation_hash LIMIT 1
) AS phone ON true
CROSS JOIN LATERAL (
    SELECT max(b.activity_key) FILTER (WHERE b.state = 'active') AS running,
        -- Of one that is over by the times, a late repetition says nothing.
        max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
            CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
        coalesce((array_agg(b.end_reason = 'dismissed'
                AND b.expires_at > now() - $4
            ORDER BY b.started_at DESC, b.activity_key DESC))[1], false) AS was_dismissed
    FROM (
        SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
            phone.removed_at, phone.full_state_at) AS state
        FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
            SELECT * FROM activities a
            WHERE a.scope_id = $5 AND a.installation_hash = q.installation_hash
                AND (a.ended_at IS NULL) = kept.runs
            ORDER BY a.activity_key DESC LIMIT $6
        ) AS own
        WHERE own.aliases -> $7 ? $8
    ) AS b
) AS bearing
LEFT JOIN LATERAL (
    SELECT its.reason, its.created_at, its.activity_key FROM explained_activities its
    WHERE its.scope_id = $9 AND its.activity_key = bearing.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $10 AND its.installation_hash = q.installation_hash
        AND its.kind = $11 AND its.value = $12 LIMIT 1
) AS l ON true
LEFT JOIN LATERAL (
    SELECT its.token, its.confirmed_at FROM deliverable_installation_tokens its
    WHERE its.scope_id = $13 AND its.installation_hash = q.installation_hash
        AND its.kind = $14 AND its.attributes_type = $15 LIMIT 1
) AS st ON true
CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN cur.activity_key IS NOT NULL THEN CASE WHEN cur.reason IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END
WHEN bearing.was_dismissed AND NOT $16 THEN 'dismissed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND NOT coalesce(l.plan_id = asked.plan_id, false)) AND NOT coalesce(l.lease_id = substr(sha256($17 || q.installation_hash), 1, 16), false) THEN 'leased'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND cardinality(l.attempted_at) >= 3
AND l.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > now() AT TIME ZONE 'UTC') THEN 'start-failed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND coalesce(l.retry_at > now(), false)) THEN 'back-off'
WHEN st.confirmed_at > now() - $18 THEN 'start'
WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
FROM (SELECT $19::text AS plan_id) AS asked) AS ruling) AS ruled
WHERE coalesce(bearing.running > $20, true)) AS found
CROSS JOIN LATERAL (
    SELECT found.ruling, found.installation_hash, found.retry_at, found.start_token,
        CASE WHEN found.is_ours OR coalesce(found.plan_id = asked.plan_id, false) THEN found.lease_id END AS lease_id, found.leased_until,
        (SELECT count(*) FROM unnest(found.attempted_at) AS attempts (began_at)
WHERE attempts.began_at > found.leased_at - interval '24 hours') AS attempt
    FROM (SELECT $21::text AS plan_id OFFSET 0) AS asked
) AS p
LEFT JOIN LATERAL (
    SELECT * FROM explained_activities its
    WHERE its.scope_id = $22 AND its.activity_key = found.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT its.token FROM deliverable_installation_tokens its
    WHERE its.scope_id = $23 AND its.installation_hash = p.installation_hash
        AND its.kind = $24 AND its.attributes_type = ''
        AND p.ruling IN ('no-update-token', 'dismissed', 'start-failed', 'start-unconfirmed', 'no-start-token') LIMIT 1
) AS dt ON true
ORDER BY found.installation_hash;
