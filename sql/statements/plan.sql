-- plan, 1: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 text, $9 bigint
SELECT p.ruling, p.installation_hash, p.retry_at, p.start_token, p.lease_id, p.leased_until, p.attempt, dt.token, cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision
FROM (
    SELECT al.activity_key FROM activity_aliases al
    WHERE al.scope_id = $1
    AND al.kind = $2 AND al.value = $3 AND NOT al.ended AND al.activity_key > $4
    ORDER BY al.activity_key LIMIT $5
) AS al
CROSS JOIN LATERAL (
    SELECT * FROM explained_activities its
    WHERE its.scope_id = $6 AND its.activity_key = al.activity_key AND its.activity_key > 0
        AND its.state = 'active' LIMIT 1
) AS cur
CROSS JOIN LATERAL (
    SELECT CASE WHEN cur.reason IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END AS ruling, cur.installation_hash,
        cur.created_at + interval '1 minute' AS retry_at, NULL::bytea AS start_token, NULL::bytea AS lease_id,
        NULL::timestamptz AS leased_until, NULL::bigint AS attempt
) AS p
LEFT JOIN LATERAL (
    SELECT its.token FROM deliverable_installation_tokens its
    WHERE its.scope_id = $7 AND its.installation_hash = p.installation_hash
        AND its.kind = $8 AND its.attributes_type = ''
        AND p.ruling IN ('no-update-token', 'dismissed', 'start-failed', 'start-unconfirmed', 'no-start-token') LIMIT 1
) AS dt ON true
ORDER BY al.activity_key LIMIT $9;

-- plan, 2: $1 text[], $2 text[], $3 bigint, $4 bytea, $5 bigint, $6 bigint
SELECT DISTINCT named.installation_hash
FROM unnest($1, $2) AS q (kind, value)
CROSS JOIN LATERAL (
    SELECT al.installation_hash FROM installation_aliases al
    WHERE al.scope_id = $3 AND al.kind = q.kind AND al.value = q.value
        AND al.installation_hash > $4
    ORDER BY al.installation_hash LIMIT $5
) AS named
ORDER BY named.installation_hash LIMIT $6;

-- plan, 3: $1 bytea[], $2 bigint, $3 interval, $4 bigint, $5 bigint, $6 text, $7 text, $8 bigint, $9 bigint, $10 text, $11 text, $12 bigint, $13 text, $14 text, $15 boolean, $16 interval, $17 text, $18 bigint, $19 bigint, $20 text, $21 text, $22 text, $23 bytea, $24 text, $25 interval, $26 bigint, $27 bigint, $28 text
WITH found AS MATERIALIZED (SELECT q.installation_hash, bearing.running, bearing.registered_at, st.token AS start_token,
    CASE ruled.ruling WHEN 'token-pending' THEN cur.created_at + interval '1 minute'
        WHEN 'leased' THEN l.leased_until WHEN 'back-off' THEN l.retry_at END AS retry_at, ruled.ruling
FROM unnest($1) AS q (installation_hash)
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $2 AND its.installation_hash = q.installation_hash LIMIT 1
) AS phone ON true
CROSS JOIN LATERAL (
    SELECT max(b.activity_key) FILTER (WHERE b.state = 'active') AS running,
        -- Of one that is over by the times, a late repetition says nothing.
        max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
            CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
        coalesce((array_agg(b.end_reason = 'dismissed'
                AND b.expires_at > now() - $3
            ORDER BY b.started_at DESC, b.activity_key DESC))[1], false) AS was_dismissed
    FROM (
        SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
            phone.removed_at, phone.full_state_at) AS state
        FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
            SELECT * FROM activities a
            WHERE a.scope_id = $4 AND a.installation_hash = q.installation_hash
                AND (a.ended_at IS NULL) = kept.runs
            ORDER BY a.activity_key DESC LIMIT $5
        ) AS own
        WHERE own.aliases -> $6 ? $7
    ) AS b
) AS bearing
LEFT JOIN LATERAL (
    SELECT its.reason, its.created_at, its.activity_key FROM explained_activities its
    WHERE its.scope_id = $8 AND its.activity_key = bearing.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $9 AND its.installation_hash = q.installation_hash
        AND its.kind = $10 AND its.value = $11 LIMIT 1
) AS l ON true
LEFT JOIN LATERAL (
    SELECT its.token, its.confirmed_at FROM deliverable_installation_tokens its
    WHERE its.scope_id = $12 AND its.installation_hash = q.installation_hash
        AND its.kind = $13 AND its.attributes_type = $14 LIMIT 1
) AS st ON true
CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN cur.activity_key IS NOT NULL THEN CASE WHEN cur.reason IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END
WHEN bearing.was_dismissed AND NOT $15 THEN 'dismissed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND NOT coalesce(l.plan_id = asked.plan_id, false))  THEN 'leased'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND cardinality(l.attempted_at) >= 3
AND l.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > now() AT TIME ZONE 'UTC') THEN 'start-failed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND coalesce(l.retry_at > now(), false)) THEN 'back-off'
WHEN st.confirmed_at > now() - $16 THEN 'start'
WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
FROM (SELECT $17::text AS plan_id) AS asked) AS ruling) AS ruled
WHERE coalesce(bearing.running > $18, true)), taken AS (
    INSERT INTO start_leases AS stored (scope_id, installation_hash, kind, value, attributes_type, lease_id, plan_id, leased_at, leased_until,
attempted_at, registered_at, touched_at) SELECT $19, found.installation_hash, $20, $21,
    $22, substr(sha256($23 || found.installation_hash), 1, 16), $24::text, now(),
    now() + $25, ARRAY[now()], found.registered_at, now()
FROM found WHERE found.ruling = 'start' ORDER BY found.installation_hash ON CONFLICT (installation_hash, scope_id, kind, value) DO UPDATE SET
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
    AND NOT (NOT coalesce(excluded.registered_at > stored.leased_at, false) AND NOT (stored.leased_until > excluded.leased_at AND stored.failed_at IS NULL AND stored.released_at IS NULL) AND coalesce(stored.retry_at > excluded.leased_at, false))
    RETURNING stored.installation_hash, stored.lease_id, stored.leased_at, stored.leased_until, stored.attempted_at
)
SELECT p.ruling, p.installation_hash, p.retry_at, p.start_token, p.lease_id, p.leased_until, p.attempt, dt.token, cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM found
LEFT JOIN taken ON taken.installation_hash = found.installation_hash
CROSS JOIN LATERAL (
    SELECT found.ruling, found.installation_hash, found.retry_at, found.start_token, taken.lease_id,
        taken.leased_until, (SELECT count(*) FROM unnest(taken.attempted_at) AS attempts (began_at)
WHERE attempts.began_at > taken.leased_at - interval '24 hours') AS attempt
) AS p
LEFT JOIN LATERAL (
    SELECT * FROM explained_activities its
    WHERE its.scope_id = $26 AND its.activity_key = found.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT its.token FROM deliverable_installation_tokens its
    WHERE its.scope_id = $27 AND its.installation_hash = p.installation_hash
        AND its.kind = $28 AND its.attributes_type = ''
        AND p.ruling IN ('no-update-token', 'dismissed', 'start-failed', 'start-unconfirmed', 'no-start-token') LIMIT 1
) AS dt ON true
ORDER BY found.installation_hash;

-- plan, 4: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bytea[], $7 bigint, $8 text, $9 text, $10 bytea
INSERT INTO events (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id
)
WITH given (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3, $4, l.installation_hash,
    (SELECT i.subject FROM installations i
    WHERE i.scope_id = $5 AND i.installation_hash = l.installation_hash),
    jsonb_build_object(l.kind, jsonb_build_array(l.value)), l.lease_id
FROM unnest($6) AS q (installation_hash) CROSS JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $7 AND its.installation_hash = q.installation_hash
        AND its.kind = $8 AND its.value = $9
        AND its.lease_id = substr(sha256($10 || q.installation_hash), 1, 16) LIMIT 1
) AS l
)
SELECT * FROM given;
