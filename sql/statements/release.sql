-- release, 1: the same as device token, deleted and released, 4

-- release, 2: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text, $14 bigint, $15 bigint, $16 text, $17 bigint, $18 text, $19 bigint, $20 text, $21 text
INSERT INTO events (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
)
WITH given (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4),
    e.token_kind, e.attributes_type
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'released' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest,
nullif(h.kind, 'update') AS token_kind, nullif(h.attributes_type, '') AS attributes_type FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.app_number, t.environment, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id,
    h.installation_hash, h.subject, h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases
    FROM activities a
    WHERE a.app_number = $5 AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
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
    WHERE its.app_number = $6 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $7 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $8 AND r.environment = t.environment AND r.installation_hash = t.installation_hash
        AND r.kind = t.installation_kind AND r.token_digest = t.token_digest
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
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
    WHERE its.app_number = $9 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $10 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $11 AND r.environment = t.environment AND NOT r.has_one_owner
        AND r.token_digest = t.token_digest AND t.installation_hash IS NULL
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.app_number = $12 AND current.environment = $13::apns_environment AND current.token_digest = t.token_digest
    LIMIT $14
) AS h
WHERE t.app_number = $15 AND t.environment = $16::apns_environment AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.app_number = $17 AND v.environment = $18::apns_environment AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.app_number = $19 AND a.environment = $20::apns_environment AND a.activity_id = $21))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- release, 3: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 text, $12 bigint, $13 bigint, $14 text, $15 bigint, $16 text, $17 bigint, $18 text, $19 text
UPDATE activities a SET revision = a.revision + 1
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.app_number, t.environment, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id,
    h.installation_hash, h.subject, h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases
    FROM activities a
    WHERE a.app_number = $3 AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
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
    WHERE its.app_number = $4 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $5 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $6 AND r.environment = t.environment AND r.installation_hash = t.installation_hash
        AND r.kind = t.installation_kind AND r.token_digest = t.token_digest
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
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
    WHERE its.app_number = $7 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $8 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $9 AND r.environment = t.environment AND NOT r.has_one_owner
        AND r.token_digest = t.token_digest AND t.installation_hash IS NULL
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.app_number = $10 AND current.environment = $11::apns_environment AND current.token_digest = t.token_digest
    LIMIT $12
) AS h
WHERE t.app_number = $13 AND t.environment = $14::apns_environment AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.app_number = $15 AND v.environment = $16::apns_environment AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.app_number = $17 AND a.environment = $18::apns_environment AND a.activity_id = $19))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- release, 4: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 text
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.app_number = $5 AND v.environment = $6::apns_environment AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.app_number = $7 AND a.environment = $8::apns_environment AND a.activity_id = $9))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;

-- release, 5: the same as device token, deleted and released, 4

-- release, 6: $1 bigint, $2 text
SELECT max(latest.quarantined_at) FROM token_kinds kinds CROSS JOIN LATERAL (
    SELECT v.quarantined_at FROM token_values v
    WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.quarantined_kind = kinds.kind AND v.quarantined_at IS NOT NULL
    ORDER BY v.quarantined_at DESC LIMIT 1
) AS latest;

-- release, 7: $1 bigint, $2 text, $3 timestamp with time zone, $4 bigint, $5 bigint
SELECT found.token_digest FROM token_kinds kinds CROSS JOIN LATERAL (
    SELECT v.token_digest FROM token_values v
    WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.quarantined_kind = kinds.kind AND v.quarantined_at IS NOT NULL AND v.quarantined_at <= $3
    ORDER BY v.quarantined_at LIMIT $4
) AS found LIMIT $5;

-- release, 8: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text, $14 bigint, $15 bigint, $16 text, $17 bytea[]
INSERT INTO events (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
)
WITH given (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4),
    e.token_kind, e.attributes_type
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'released' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest,
nullif(h.kind, 'update') AS token_kind, nullif(h.attributes_type, '') AS attributes_type FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.app_number, t.environment, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id,
    h.installation_hash, h.subject, h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases
    FROM activities a
    WHERE a.app_number = $5 AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
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
    WHERE its.app_number = $6 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $7 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $8 AND r.environment = t.environment AND r.installation_hash = t.installation_hash
        AND r.kind = t.installation_kind AND r.token_digest = t.token_digest
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
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
    WHERE its.app_number = $9 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $10 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $11 AND r.environment = t.environment AND NOT r.has_one_owner
        AND r.token_digest = t.token_digest AND t.installation_hash IS NULL
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.app_number = $12 AND current.environment = $13::apns_environment AND current.token_digest = t.token_digest
    LIMIT $14
) AS h
WHERE t.app_number = $15 AND t.environment = $16::apns_environment AND t.token_digest = ANY(ARRAY(SELECT q.token_digest FROM unnest($17) AS q (token_digest)))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- release, 9: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 text, $12 bigint, $13 bigint, $14 text, $15 bytea[]
UPDATE activities a SET revision = a.revision + 1
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.app_number, t.environment, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id,
    h.installation_hash, h.subject, h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases
    FROM activities a
    WHERE a.app_number = $3 AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
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
    WHERE its.app_number = $4 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $5 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $6 AND r.environment = t.environment AND r.installation_hash = t.installation_hash
        AND r.kind = t.installation_kind AND r.token_digest = t.token_digest
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
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
    WHERE its.app_number = $7 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $8 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $9 AND r.environment = t.environment AND NOT r.has_one_owner
        AND r.token_digest = t.token_digest AND t.installation_hash IS NULL
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.app_number = $10 AND current.environment = $11::apns_environment AND current.token_digest = t.token_digest
    LIMIT $12
) AS h
WHERE t.app_number = $13 AND t.environment = $14::apns_environment AND t.token_digest = ANY(ARRAY(SELECT q.token_digest FROM unnest($15) AS q (token_digest)))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- release, 10: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea[]
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment AND t.token_digest = ANY(ARRAY(SELECT q.token_digest FROM unnest($5) AS q (token_digest)))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;
