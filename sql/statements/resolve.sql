-- resolve, 1: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint
SELECT al.activity_number, c.activity_id, c.token, c.installation_hash, c.attributes_type, c.frequent_pushes_enabled,
c.started_at, c.starts_at, c.token_observed_at, c.confirmed_at, c.expires_at, c.revision FROM (
    SELECT al.activity_number FROM activity_aliases al
    WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_number > $5
    ORDER BY al.activity_number LIMIT $6
) AS al
LEFT JOIN LATERAL (SELECT cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT * FROM (SELECT
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
) AS v) r WHERE r.verdict IS NULL) cur
WHERE cur.app_number = $9 AND cur.activity_number = al.activity_number
    AND cur.activity_number > 0 LIMIT 1) AS c ON true
ORDER BY al.activity_number;

-- resolve, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 text, $6 text, $7 text, $8 bigint, $9 bigint
SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL (SELECT cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT * FROM (SELECT
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
    WHERE its.app_number = $1 AND its.environment = a.environment
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
            WHERE its.app_number = $2 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) r WHERE r.verdict IS NULL) cur
WHERE cur.app_number = $3 AND cur.activity_number = al.activity_number
    AND cur.activity_number > 0 LIMIT 1) AS c
WHERE al.app_number = $4 AND al.environment = $5::apns_environment
    AND al.kind = $6 AND al.value = $7 AND NOT al.ended AND al.activity_number > $8 AND al.activity_number <= $9
ORDER BY al.activity_number;

-- resolve, 3: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint
SELECT al.activity_number FROM activity_aliases al
WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_number > $5
ORDER BY al.activity_number LIMIT 1 OFFSET $6;

-- resolve, 4: $1 text[], $2 text[], $3 bigint, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint
SELECT q.position, c.*
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT al.activity_number, c.activity_id, c.token, c.installation_hash, c.attributes_type, c.frequent_pushes_enabled,
c.started_at, c.starts_at, c.token_observed_at, c.confirmed_at, c.expires_at, c.revision FROM (
        SELECT al.activity_number FROM activity_aliases al
        WHERE al.app_number = $3 AND al.environment = $4::apns_environment
            AND al.kind = q.kind AND al.value = q.value AND NOT al.ended
        ORDER BY al.activity_number LIMIT $5
    ) AS al
    LEFT JOIN LATERAL (SELECT cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT * FROM (SELECT
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
    WHERE its.app_number = $6 AND its.environment = a.environment
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
            WHERE its.app_number = $7 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) r WHERE r.verdict IS NULL) cur
WHERE cur.app_number = $8 AND cur.activity_number = al.activity_number
    AND cur.activity_number > 0 LIMIT 1) AS c ON true
    OFFSET 0
) AS c
LIMIT $9;

-- resolve, 5: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text
SELECT a.activity_id, a.end_reason::text, CASE a.verdict WHEN 'logged-out' THEN a.removed_at ELSE a.ended_at END, coalesce(a.token_observed_at, a.last_observed_at),
a.confirmed_at, a.expires_at, a.revision, a.state, nullif(a.verdict, 'no-token'), CASE WHEN a.verdict IS NULL THEN a.token END, a.installation_hash, a.attributes_type, a.frequent_pushes_enabled, a.started_at, a.starts_at
FROM (
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
    WHERE its.app_number = $1 AND its.environment = a.environment
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
            WHERE its.app_number = $2 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) its
    WHERE its.app_number = $3 AND its.environment = $4::apns_environment AND its.activity_id = $5 LIMIT 1
) AS a;

-- resolve, 6: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text, $6 bigint, $7 text, $8 text, $9 text, $10 bytea, $11 bytea, $12 text, $13 bigint
SELECT c.* FROM installation_aliases al CROSS JOIN LATERAL (
    SELECT cur.token, cur.installation_hash, cur.attributes_type, cur.observed_at, cur.confirmed_at
    FROM (SELECT * FROM (SELECT
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
    WHERE its.app_number = $1 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $2 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) cur
    WHERE cur.app_number = $3 AND cur.environment = $4::apns_environment
        AND cur.installation_hash = al.installation_hash AND cur.kind = $5 AND true
    OFFSET 0
) AS c
WHERE al.app_number = $6 AND al.environment = $7::apns_environment
    AND al.kind = $8 AND al.value = $9
    AND al.installation_hash >= $10
    AND (al.installation_hash, c.attributes_type) > ($11, $12)
ORDER BY al.installation_hash, c.attributes_type LIMIT $13;

-- resolve, 7: the same as resolve, 6
