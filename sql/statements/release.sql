-- release, 1: the same as device token, deleted and released, 4

-- release, 2: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 text
INSERT INTO events (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
)
WITH given (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, e.type, e.who, e.activity_id, e.installation_hash, e.subject,
    e.aliases, substr(e.token_digest, 1, 4), e.token_kind, e.attributes_type
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'released' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest,
nullif(h.kind, 'update') AS token_kind, nullif(h.attributes_type, '') AS attributes_type FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $4 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND a.ended_at IS NULL AND a.expires_at > now() AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $5 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $6 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $7 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
        AND r.token_digest = t.token_digest AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $8 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $9 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $10 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.scope_id = $11 AND current.token_digest = t.token_digest
    LIMIT $12
) AS h
WHERE t.scope_id = $13 AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.scope_id = $14 AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.scope_id = $15 AND a.activity_id = $16))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- release, 3: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 text
UPDATE activities a SET revision = a.revision + 1, withheld = NULL
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $2 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND a.ended_at IS NULL AND a.expires_at > now() AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $3 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $4 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $5 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
        AND r.token_digest = t.token_digest AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $6 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $7 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $8 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.scope_id = $9 AND current.token_digest = t.token_digest
    LIMIT $10
) AS h
WHERE t.scope_id = $11 AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.scope_id = $12 AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.scope_id = $13 AND a.activity_id = $14))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- release, 4: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 text
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
WHERE v.scope_id = $1 AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.scope_id = $2 AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.scope_id = $3 AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.scope_id = $4 AND a.activity_id = $5))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;

-- release, 5: the same as device token, deleted and released, 4

-- release, 6: $1 bigint
SELECT max(latest.quarantined_at) FROM token_kinds kinds CROSS JOIN LATERAL (
    SELECT v.quarantined_at FROM token_values v
    WHERE v.scope_id = $1 AND v.quarantined_kind = kinds.kind AND v.quarantined_at IS NOT NULL
    ORDER BY v.quarantined_at DESC LIMIT 1
) AS latest;

-- release, 7: $1 bigint, $2 timestamp with time zone, $3 bigint, $4 bigint
SELECT found.token_digest FROM token_kinds kinds CROSS JOIN LATERAL (
    SELECT v.token_digest FROM token_values v
    WHERE v.scope_id = $1 AND v.quarantined_kind = kinds.kind AND v.quarantined_at IS NOT NULL AND v.quarantined_at <= $2
    ORDER BY v.quarantined_at LIMIT $3
) AS found LIMIT $4;

-- release, 8: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bytea[]
INSERT INTO events (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
)
WITH given (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, e.type, e.who, e.activity_id, e.installation_hash, e.subject,
    e.aliases, substr(e.token_digest, 1, 4), e.token_kind, e.attributes_type
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'released' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest,
nullif(h.kind, 'update') AS token_kind, nullif(h.attributes_type, '') AS attributes_type FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $4 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND a.ended_at IS NULL AND a.expires_at > now() AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $5 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $6 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $7 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
        AND r.token_digest = t.token_digest AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $8 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $9 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $10 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.scope_id = $11 AND current.token_digest = t.token_digest
    LIMIT $12
) AS h
WHERE t.scope_id = $13 AND t.token_digest = ANY(ARRAY(SELECT q.token_digest FROM unnest($14) AS q (token_digest)))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- release, 9: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bytea[]
UPDATE activities a SET revision = a.revision + 1, withheld = NULL
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $2 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND a.ended_at IS NULL AND a.expires_at > now() AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $3 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $4 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $5 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
        AND r.token_digest = t.token_digest AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM (SELECT
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
    WHERE its.scope_id = $6 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $7 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $8 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.scope_id = $9 AND current.token_digest = t.token_digest
    LIMIT $10
) AS h
WHERE t.scope_id = $11 AND t.token_digest = ANY(ARRAY(SELECT q.token_digest FROM unnest($12) AS q (token_digest)))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- release, 10: $1 bigint, $2 bigint, $3 bytea[]
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
WHERE v.scope_id = $1 AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.scope_id = $2 AND t.token_digest = ANY(ARRAY(SELECT q.token_digest FROM unnest($3) AS q (token_digest)))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;
