-- plan on Citus, 1: $1 bigint, $2 text, $3 text, $4 text, $5 bytea, $6 text, $7 interval, $8 bytea, $9 bytea[], $10 bigint, $11 interval, $12 bigint, $13 bigint, $14 text, $15 text, $16 bigint, $17 bigint, $18 bigint, $19 text, $20 text, $21 bigint, $22 bigint, $23 bigint, $24 text, $25 text, $26 boolean, $27 bytea, $28 interval, $29 text, $30 bigint
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
    SELECT its.verdict, its.created_at, its.activity_key FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $16 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) its
    WHERE its.scope_id = $17 AND its.activity_key = bearing.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $18 AND its.installation_hash = q.installation_hash
        AND its.kind = $19 AND its.value = $20 LIMIT 1
) AS l ON true
LEFT JOIN LATERAL (
    SELECT its.token, its.confirmed_at FROM (SELECT * FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.scope_id = $21 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $22 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) its
    WHERE its.scope_id = $23 AND its.installation_hash = q.installation_hash
        AND its.kind = $24 AND its.attributes_type = $25 LIMIT 1
) AS st ON true
CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN cur.activity_key IS NOT NULL THEN CASE WHEN cur.verdict IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END
WHEN bearing.was_dismissed AND NOT $26 THEN 'dismissed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND NOT coalesce(l.plan_id = asked.plan_id, false)) AND NOT coalesce(l.lease_id = substr(sha256($27 || q.installation_hash), 1, 16), false) THEN 'leased'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND cardinality(l.attempted_at) >= 3
AND l.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > now() AT TIME ZONE 'UTC') THEN 'start-failed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND coalesce(l.retry_at > now(), false)) THEN 'back-off'
WHEN st.confirmed_at > now() - $28 THEN 'start'
WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
FROM (SELECT $29::text AS plan_id) AS asked) AS ruling) AS ruled
WHERE coalesce(bearing.running > $30, true)) AS found WHERE found.ruling = 'start' ORDER BY found.installation_hash
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

-- plan on Citus, 2: $1 bytea, $2 bytea[], $3 bigint, $4 interval, $5 bigint, $6 bigint, $7 text, $8 text, $9 bigint, $10 bigint, $11 bigint, $12 text, $13 text, $14 bigint, $15 bigint, $16 bigint, $17 text, $18 text, $19 boolean, $20 bytea, $21 interval, $22 text, $23 bigint, $24 text, $25 bigint, $26 bigint, $27 bigint, $28 bigint, $29 bigint, $30 text
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
    SELECT its.verdict, its.created_at, its.activity_key FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $9 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) its
    WHERE its.scope_id = $10 AND its.activity_key = bearing.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $11 AND its.installation_hash = q.installation_hash
        AND its.kind = $12 AND its.value = $13 LIMIT 1
) AS l ON true
LEFT JOIN LATERAL (
    SELECT its.token, its.confirmed_at FROM (SELECT * FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.scope_id = $14 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $15 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) its
    WHERE its.scope_id = $16 AND its.installation_hash = q.installation_hash
        AND its.kind = $17 AND its.attributes_type = $18 LIMIT 1
) AS st ON true
CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN cur.activity_key IS NOT NULL THEN CASE WHEN cur.verdict IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END
WHEN bearing.was_dismissed AND NOT $19 THEN 'dismissed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND NOT coalesce(l.plan_id = asked.plan_id, false)) AND NOT coalesce(l.lease_id = substr(sha256($20 || q.installation_hash), 1, 16), false) THEN 'leased'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND cardinality(l.attempted_at) >= 3
AND l.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > now() AT TIME ZONE 'UTC') THEN 'start-failed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND coalesce(l.retry_at > now(), false)) THEN 'back-off'
WHEN st.confirmed_at > now() - $21 THEN 'start'
WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
FROM (SELECT $22::text AS plan_id) AS asked) AS ruling) AS ruled
WHERE coalesce(bearing.running > $23, true)) AS found
CROSS JOIN LATERAL (
    SELECT found.ruling, found.installation_hash, found.retry_at, found.start_token,
        CASE WHEN found.is_ours OR coalesce(found.plan_id = asked.plan_id, false) THEN found.lease_id END AS lease_id, found.leased_until,
        (SELECT count(*) FROM unnest(found.attempted_at) AS attempts (began_at)
WHERE attempts.began_at > found.leased_at - interval '24 hours') AS attempt
    FROM (SELECT $24::text AS plan_id OFFSET 0) AS asked
) AS p
LEFT JOIN LATERAL (
    SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $25 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) its
    WHERE its.scope_id = $26 AND its.activity_key = found.running AND its.activity_key > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT its.token FROM (SELECT * FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.scope_id = $27 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $28 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) its
    WHERE its.scope_id = $29 AND its.installation_hash = p.installation_hash
        AND its.kind = $30 AND its.attributes_type = ''
        AND p.ruling IN ('no-update-token', 'dismissed', 'start-failed', 'start-unconfirmed', 'no-start-token') LIMIT 1
) AS dt ON true
ORDER BY found.installation_hash;
