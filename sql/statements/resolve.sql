-- resolve, 1: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint
SELECT al.activity_key, c.activity_id, c.token, c.installation_hash, c.attributes_type, c.frequent_pushes_enabled,
c.started_at, c.starts_at, c.token_observed_at, c.confirmed_at, c.expires_at, c.revision FROM (
    SELECT al.activity_key FROM activity_aliases al
    WHERE al.scope_id = $1
    AND al.kind = $2 AND al.value = $3 AND NOT al.ended AND al.activity_key > $4
    ORDER BY al.activity_key LIMIT $5
) AS al
LEFT JOIN LATERAL (SELECT cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT * FROM (SELECT
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
    WHERE its.scope_id = $6 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) r WHERE r.verdict IS NULL) cur
WHERE cur.scope_id = $7 AND cur.activity_key = al.activity_key
    AND cur.activity_key > 0 LIMIT 1) AS c ON true
ORDER BY al.activity_key;

-- resolve, 2: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text, $6 bigint, $7 bigint
SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL (SELECT cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT * FROM (SELECT
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
    WHERE its.scope_id = $1 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) r WHERE r.verdict IS NULL) cur
WHERE cur.scope_id = $2 AND cur.activity_key = al.activity_key
    AND cur.activity_key > 0 LIMIT 1) AS c
WHERE al.scope_id = $3
    AND al.kind = $4 AND al.value = $5 AND NOT al.ended AND al.activity_key > $6 AND al.activity_key <= $7
ORDER BY al.activity_key;

-- resolve, 3: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint
SELECT al.activity_key FROM activity_aliases al
WHERE al.scope_id = $1
    AND al.kind = $2 AND al.value = $3 AND NOT al.ended AND al.activity_key > $4
ORDER BY al.activity_key LIMIT 1 OFFSET $5;

-- resolve, 4: $1 text[], $2 text[], $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint
SELECT q.position, c.*
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT al.activity_key, c.activity_id, c.token, c.installation_hash, c.attributes_type, c.frequent_pushes_enabled,
c.started_at, c.starts_at, c.token_observed_at, c.confirmed_at, c.expires_at, c.revision FROM (
        SELECT al.activity_key FROM activity_aliases al
        WHERE al.scope_id = $3
            AND al.kind = q.kind AND al.value = q.value AND NOT al.ended
        ORDER BY al.activity_key LIMIT $4
    ) AS al
    LEFT JOIN LATERAL (SELECT cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM (SELECT * FROM (SELECT
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
    WHERE its.scope_id = $5 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) r WHERE r.verdict IS NULL) cur
WHERE cur.scope_id = $6 AND cur.activity_key = al.activity_key
    AND cur.activity_key > 0 LIMIT 1) AS c ON true
    OFFSET 0
) AS c
LIMIT $7;

-- resolve, 5: $1 bigint, $2 bigint, $3 text
SELECT a.activity_id, a.end_reason::text, CASE a.verdict WHEN 'logged-out' THEN a.removed_at ELSE a.ended_at END, coalesce(a.token_observed_at, a.last_observed_at),
a.confirmed_at, a.expires_at, a.revision, a.state, nullif(a.verdict, 'no-token'), CASE WHEN a.verdict IS NULL THEN a.token END, a.installation_hash, a.attributes_type, a.frequent_pushes_enabled, a.started_at, a.starts_at
FROM (
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
    WHERE its.scope_id = $1 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) its
    WHERE its.scope_id = $2 AND its.activity_id = $3 LIMIT 1
) AS a;

-- resolve, 6: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 bigint, $6 text, $7 text, $8 bytea, $9 bytea, $10 text, $11 bigint
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
    WHERE its.scope_id = $1 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $2 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r WHERE r.verdict IS NULL) cur
    WHERE cur.scope_id = $3
        AND cur.installation_hash = al.installation_hash AND cur.kind = $4 AND true
    OFFSET 0
) AS c
WHERE al.scope_id = $5
    AND al.kind = $6 AND al.value = $7
    AND al.installation_hash >= $8
    AND (al.installation_hash, c.attributes_type) > ($9, $10)
ORDER BY al.installation_hash, c.attributes_type LIMIT $11;

-- resolve, 7: the same as resolve, 6
