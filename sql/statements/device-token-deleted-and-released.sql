-- device token, deleted and released, 1: the same as device token, 1

-- device token, deleted and released, 2: $1 text, $2 bytea, $3 text, $4 text, $5 boolean, $6 timestamp with time zone, $7 bigint, $8 bigint, $9 text, $10 bytea, $11 bigint
INSERT INTO installation_tokens AS stored (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, deleted_at, outcome
)
WITH given (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, deleted_at, outcome
) AS MATERIALIZED (
SELECT app.app_number, $1::apns_environment, $2,
    $3, $4, $5, coalesce($6, clock_timestamp()),
    'refused'::activity_outcome
FROM apps app WHERE app.app_number = $7 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $8 AND held.environment = $9::apns_environment
AND held.installation_hash = $10 AND held.request_number = $11) AND true
)
SELECT * FROM given
ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type) DO UPDATE SET
    deleted_at = greatest(stored.deleted_at, greatest(excluded.deleted_at, stored.observed_at)),
    token = CASE WHEN stored.observed_at > greatest(excluded.deleted_at, stored.observed_at) THEN stored.token END,
    outcome = CASE WHEN stored.token IS NOT NULL AND stored.observed_at <= greatest(excluded.deleted_at, stored.observed_at)
        THEN 'ended'::activity_outcome ELSE 'refused' END,
    previous_claimed_at = NULL, touched_at = excluded.touched_at
RETURNING 1;

-- device token, deleted and released, 3: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 bytea, $10 text, $11 text, $12 bigint, $13 text, $14 bytea, $15 bigint
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'deleted' AS type,
    NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM installation_tokens r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $5 AND its.environment = $6::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE r.app_number = $7 AND r.environment = $8::apns_environment
AND r.installation_hash = $9 AND r.kind = $10
AND r.attributes_type = $11 AND r.outcome = 'ended' AND EXISTS (SELECT FROM installations held WHERE held.app_number = $12 AND held.environment = $13::apns_environment
AND held.installation_hash = $14 AND held.request_number = $15)) AS given) AS e
)
SELECT * FROM given;

-- device token, deleted and released, 4: $1 bigint, $2 text
INSERT INTO quarantine_guards AS stored (app_number, environment, kind)
SELECT $1, $2::apns_environment, kinds.kind FROM token_kinds kinds ORDER BY kinds.kind
ON CONFLICT (app_number, environment, kind) DO UPDATE SET reported_at = stored.reported_at;

-- device token, deleted and released, 5: $1 bigint, $2 text, $3 bytea, $4 text, $5 text
UPDATE installation_tokens r SET touched_at = statement_timestamp()
WHERE r.app_number = $1 AND r.environment = $2::apns_environment
AND r.installation_hash = $3 AND r.kind = $4
AND r.attributes_type = $5 AND r.token IS NOT NULL RETURNING 1;

-- device token, deleted and released, 6: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text, $14 bigint, $15 bigint, $16 text, $17 bigint, $18 text, $19 bigint, $20 text, $21 bytea, $22 text, $23 text
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
WHERE t.app_number = $15 AND t.environment = $16::apns_environment AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM installation_tokens own
JOIN token_values v ON v.app_number = $17 AND v.environment = $18::apns_environment AND v.token_digest = own.token_digest AND v.quarantined_at IS NOT NULL
    AND (NOT own.has_one_owner OR v.installation_hash = own.installation_hash)
WHERE own.app_number = $19 AND own.environment = $20::apns_environment
AND own.installation_hash = $21 AND own.kind = $22
AND own.attributes_type = $23 AND own.token IS NOT NULL))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- device token, deleted and released, 7: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 text, $12 bigint, $13 bigint, $14 text, $15 bigint, $16 text, $17 bigint, $18 text, $19 bytea, $20 text, $21 text
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
WHERE t.app_number = $13 AND t.environment = $14::apns_environment AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM installation_tokens own
JOIN token_values v ON v.app_number = $15 AND v.environment = $16::apns_environment AND v.token_digest = own.token_digest AND v.quarantined_at IS NOT NULL
    AND (NOT own.has_one_owner OR v.installation_hash = own.installation_hash)
WHERE own.app_number = $17 AND own.environment = $18::apns_environment
AND own.installation_hash = $19 AND own.kind = $20
AND own.attributes_type = $21 AND own.token IS NOT NULL))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- device token, deleted and released, 8: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 bytea, $10 text, $11 text
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM installation_tokens own
JOIN token_values v ON v.app_number = $5 AND v.environment = $6::apns_environment AND v.token_digest = own.token_digest AND v.quarantined_at IS NOT NULL
    AND (NOT own.has_one_owner OR v.installation_hash = own.installation_hash)
WHERE own.app_number = $7 AND own.environment = $8::apns_environment
AND own.installation_hash = $9 AND own.kind = $10
AND own.attributes_type = $11 AND own.token IS NOT NULL))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;
