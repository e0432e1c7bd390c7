-- plan, 1: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text, $14 text, $15 bigint
SELECT p.ruling, p.installation_hash, p.retry_at, p.start_token, p.lease_id, p.leased_until, p.attempt, dt.token, cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision
FROM (
    SELECT al.activity_number FROM activity_aliases al
    WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_number > $5
    ORDER BY al.activity_number LIMIT $6
) AS al
CROSS JOIN LATERAL (
    SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $7 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $8 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) its
    WHERE its.app_number = $9 AND its.activity_number = al.activity_number AND its.activity_number > 0
        AND its.state = 'active' LIMIT 1
) AS cur
CROSS JOIN LATERAL (
    SELECT CASE WHEN cur.verdict IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END AS ruling, cur.installation_hash,
        cur.created_at + interval '1 minute' AS retry_at, NULL::bytea AS start_token, NULL::bytea AS lease_id,
        NULL::timestamptz AS leased_until, NULL::bigint AS attempt
) AS p
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
    WHERE its.app_number = $10 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $11 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) its
    WHERE its.app_number = $12 AND its.environment = $13::apns_environment AND its.installation_hash = p.installation_hash
        AND its.kind = $14 AND its.attributes_type = ''
        AND p.ruling IN ('no-update-token', 'dismissed', 'start-failed', 'start-unconfirmed', 'no-start-token') LIMIT 1
) AS dt ON true
ORDER BY al.activity_number LIMIT $15;

-- plan, 2: $1 text[], $2 text[], $3 bigint, $4 text, $5 bytea, $6 bigint, $7 bigint
SELECT DISTINCT named.installation_hash
FROM unnest($1, $2) AS q (kind, value)
CROSS JOIN LATERAL (
    SELECT al.installation_hash FROM installation_aliases al
    WHERE al.app_number = $3 AND al.environment = $4::apns_environment AND al.kind = q.kind AND al.value = q.value
        AND al.installation_hash > $5
    ORDER BY al.installation_hash LIMIT $6
) AS named
ORDER BY named.installation_hash LIMIT $7;

-- plan, 3: $1 bytea[], $2 bigint, $3 text, $4 interval, $5 bigint, $6 text, $7 bigint, $8 text, $9 text, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 text, $15 text, $16 text, $17 bigint, $18 bigint, $19 bigint, $20 text, $21 text, $22 text, $23 boolean, $24 interval, $25 text, $26 bigint, $27 bigint, $28 text, $29 text, $30 text, $31 text, $32 bytea, $33 text, $34 interval, $35 bigint, $36 bigint, $37 bigint, $38 bigint, $39 bigint, $40 bigint, $41 text, $42 text
WITH found AS MATERIALIZED (SELECT q.installation_hash, bearing.running, bearing.registered_at, st.token AS start_token,
    CASE ruled.ruling WHEN 'token-pending' THEN cur.created_at + interval '1 minute'
        WHEN 'leased' THEN l.leased_until WHEN 'back-off' THEN l.retry_at END AS retry_at, ruled.ruling
FROM unnest($1) AS q (installation_hash)
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.app_number = $2 AND its.environment = $3::apns_environment AND its.installation_hash = q.installation_hash LIMIT 1
) AS phone ON true
CROSS JOIN LATERAL (
    SELECT max(b.activity_number) FILTER (WHERE b.state = 'active') AS running,
        -- Of one that is over by the times, a late repetition says nothing.
        max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
            CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
        coalesce((array_agg(b.end_reason = 'dismissed'
                AND b.expires_at > now() - $4
            ORDER BY b.started_at DESC, b.activity_number DESC))[1], false) AS was_dismissed
    FROM (
        SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
            phone.removed_at, phone.full_state_at) AS state
        FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
            SELECT * FROM activities a
            WHERE a.app_number = $5 AND a.environment = $6::apns_environment AND a.installation_hash = q.installation_hash
                AND (a.ended_at IS NULL) = kept.runs
            ORDER BY a.activity_number DESC LIMIT $7
        ) AS own
        WHERE own.aliases -> $8 ? $9
    ) AS b
) AS bearing
LEFT JOIN LATERAL (
    SELECT its.verdict, its.created_at, its.activity_number FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $10 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $11 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) its
    WHERE its.app_number = $12 AND its.activity_number = bearing.running AND its.activity_number > 0 LIMIT 1
) AS cur ON true
LEFT JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.app_number = $13 AND its.environment = $14::apns_environment AND its.installation_hash = q.installation_hash
        AND its.kind = $15 AND its.value = $16 LIMIT 1
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
    WHERE its.app_number = $17 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $18 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) its
    WHERE its.app_number = $19 AND its.environment = $20::apns_environment AND its.installation_hash = q.installation_hash
        AND its.kind = $21 AND its.attributes_type = $22 LIMIT 1
) AS st ON true
CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN cur.activity_number IS NOT NULL THEN CASE WHEN cur.verdict IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
ELSE 'no-update-token' END
WHEN bearing.was_dismissed AND NOT $23 THEN 'dismissed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND NOT coalesce(l.plan_id = asked.plan_id, false))  THEN 'leased'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND cardinality(l.attempted_at) >= 3
AND l.attempted_at[1] AT TIME ZONE 'UTC' + interval '24 hours' > now() AT TIME ZONE 'UTC') THEN 'start-failed'
WHEN (NOT coalesce(bearing.registered_at > l.leased_at, false) AND NOT (l.leased_until > now() AND l.failed_at IS NULL AND l.released_at IS NULL) AND coalesce(l.retry_at > now(), false)) THEN 'back-off'
WHEN st.confirmed_at > now() - $24 THEN 'start'
WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
FROM (SELECT $25::text AS plan_id) AS asked) AS ruling) AS ruled
WHERE coalesce(bearing.running > $26, true)), taken AS (
    INSERT INTO start_leases AS stored (app_number, environment, installation_hash, kind, value, attributes_type, lease_id, plan_id, leased_at, leased_until,
attempted_at, registered_at, touched_at) SELECT $27, $28::apns_environment, found.installation_hash, $29, $30,
    $31, substr(sha256($32 || found.installation_hash), 1, 16), $33::text, now(),
    now() + $34, ARRAY[now()], found.registered_at, now()
FROM found WHERE found.ruling = 'start' ORDER BY found.installation_hash ON CONFLICT (installation_hash, app_number, environment, kind, value) DO UPDATE SET
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
SELECT p.ruling, p.installation_hash, p.retry_at, p.start_token, p.lease_id, p.leased_until, p.attempt, dt.token, cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM found
LEFT JOIN taken ON taken.installation_hash = found.installation_hash
CROSS JOIN LATERAL (
    SELECT found.ruling, found.installation_hash, found.retry_at, found.start_token, taken.lease_id,
        taken.leased_until, (SELECT count(*) FROM unnest(taken.attempted_at) AS attempts (began_at)
WHERE attempts.began_at > taken.leased_at - interval '24 hours') AS attempt
) AS p
LEFT JOIN LATERAL (
    SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $35 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $36 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) its
    WHERE its.app_number = $37 AND its.activity_number = found.running AND its.activity_number > 0 LIMIT 1
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
    WHERE its.app_number = $38 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $39 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) its
    WHERE its.app_number = $40 AND its.environment = $41::apns_environment AND its.installation_hash = p.installation_hash
        AND its.kind = $42 AND its.attributes_type = ''
        AND p.ruling IN ('no-update-token', 'dismissed', 'start-failed', 'start-unconfirmed', 'no-start-token') LIMIT 1
) AS dt ON true
ORDER BY found.installation_hash;

-- plan, 4: $1 bigint, $2 interval, $3 text, $4 text, $5 text, $6 bigint, $7 text, $8 bytea[], $9 bigint, $10 text, $11 text, $12 text, $13 bytea
INSERT INTO events (
    app_number, drop_on, environment, type, who, installation_hash, subject, aliases, lease_id
)
WITH given (
    app_number, drop_on, environment, type, who, installation_hash, subject, aliases, lease_id
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1,
    $3::apns_environment, $4, $5, l.installation_hash,
    (SELECT i.subject FROM installations i
    WHERE i.app_number = $6 AND i.environment = $7::apns_environment AND i.installation_hash = l.installation_hash),
    jsonb_build_object(l.kind, jsonb_build_array(l.value)), l.lease_id
FROM unnest($8) AS q (installation_hash) CROSS JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.app_number = $9 AND its.environment = $10::apns_environment AND its.installation_hash = q.installation_hash
        AND its.kind = $11 AND its.value = $12
        AND its.lease_id = substr(sha256($13 || q.installation_hash), 1, 16) LIMIT 1
) AS l
)
SELECT * FROM given;
