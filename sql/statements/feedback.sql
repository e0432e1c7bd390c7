-- feedback, 1: the same as device token, deleted and released, 4

-- feedback, 2: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 text[]
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
WHERE t.scope_id = $13 AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM token_values v
WHERE v.scope_id = $14 AND v.quarantined_kind = ANY($15)
    AND v.quarantined_at > now() - interval '10 minutes'))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- feedback, 3: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text[]
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
WHERE t.scope_id = $11 AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM token_values v
WHERE v.scope_id = $12 AND v.quarantined_kind = ANY($13)
    AND v.quarantined_at > now() - interval '10 minutes'))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- feedback, 4: $1 bigint, $2 bigint, $3 bigint, $4 text[]
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
WHERE v.scope_id = $1 AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.scope_id = $2 AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM token_values v
WHERE v.scope_id = $3 AND v.quarantined_kind = ANY($4)
    AND v.quarantined_at > now() - interval '10 minutes'))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;

-- feedback, 5: $1 bigint, $2 bigint, $3 bytea[]
SELECT a.activity_id, a.ctid::text FROM activities a
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(
    SELECT t.activity_id FROM token_values t
    WHERE t.scope_id = $2 AND t.token_digest = ANY($3)
))
ORDER BY a.activity_id FOR UPDATE;

-- feedback, 6: $1 bigint, $2 text[]
SELECT a.activity_id, a.ctid::text FROM activities a
WHERE a.scope_id = $1 AND a.activity_id = ANY($2)
ORDER BY a.activity_id FOR UPDATE;

-- feedback, 7: $1 bigint, $2 bytea[]
SELECT t.token_digest, t.activity_id, t.ctid::text FROM token_values t
WHERE t.scope_id = $1 AND t.token_digest = ANY($2)
ORDER BY t.token_digest FOR UPDATE;

-- feedback, 8: $1 bigint, $2 interval, $3 text, $4 bytea[], $5 text[], $6 timestamp with time zone[], $7 text[], $8 text[], $9 text[], $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 bigint, $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 bigint, $22 bigint, $23 bigint, $24 bigint, $25 bigint, $26 bigint, $27 bigint, $28 bigint, $29 bigint, $30 bigint, $31 bigint, $32 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT CASE WHEN r.verdict = 'dead' THEN 'dropped' ELSE r.effect END AS type, lost.* FROM (SELECT q.*, now() AS received_at, s.accused_at, held.kind, held.claimed_at, t.dead_at, t.quarantined_at,
    coalesce((t.activity_id IS NOT NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL), false) AS was_known,
    coalesce((g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes'), false) AS is_guarded,
    CASE WHEN held.claimed_at > coalesce(t.dead_at, '-infinity') AND held.claimed_at <= s.accused_at THEN
        CASE WHEN q.verdict = 'dead' THEN 'dropped'
            WHEN held.claimed_at > coalesce(t.quarantined_at, '-infinity') THEN 'quarantined' ELSE 'none' END
        ELSE 'none' END AS effect
FROM unnest($4, $5, $6, $7, $8::text[]::tid[], $9::text[]::tid[]) WITH ORDINALITY AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
LEFT JOIN LATERAL (SELECT * FROM token_values v WHERE v.ctid = q.value_place AND v.scope_id = $10
    AND v.token_digest = q.token_digest LIMIT 1) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.ctid = q.activity_place AND a.scope_id = $11 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $12 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
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
    WHERE its.scope_id = $13 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $14 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $15 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
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
    WHERE its.scope_id = $16 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $17 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $18 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.scope_id = $19 AND other.token_digest = q.token_digest
        LIMIT $20)
    ) AS h
) AS held
LEFT JOIN quarantine_guards g ON g.scope_id = $21 AND g.kind = held.kind
CROSS JOIN LATERAL (SELECT least(coalesce(q.reported_at, now()), now()) AS accused_at) AS s) AS r
CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.ctid = r.value_place AND v.scope_id = $22
    AND v.token_digest = r.token_digest LIMIT 1) AS t
CROSS JOIN LATERAL (
    (SELECT a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type, a.token_claimed_at AS claimed_at FROM activities a
    WHERE a.ctid = r.activity_place AND a.scope_id = $23 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now() LIMIT 1)
    UNION ALL
    SELECT h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest,
nullif(h.kind, 'update') AS token_kind, nullif(h.attributes_type, '') AS attributes_type, h.claimed_at FROM (SELECT) AS value CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $24 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
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
    WHERE its.scope_id = $25 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $26 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $27 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
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
    WHERE its.scope_id = $28 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $29 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $30 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.scope_id = $31 AND current.token_digest = t.token_digest
    LIMIT $32
) AS h
    WHERE h.kind <> 'update' AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL)
) AS lost
WHERE (r.effect <> 'none' OR r.verdict = 'dead') AND (r.verdict = 'dead' OR (r.verdict = 'suspect' AND r.claimed_at <= r.accused_at AND NOT r.is_guarded))
    AND lost.claimed_at > coalesce(r.dead_at, '-infinity') AND lost.claimed_at <= r.accused_at) AS given) AS e
)
SELECT * FROM given;

-- feedback, 9: $1 bytea[], $2 text[], $3 timestamp with time zone[], $4 text[], $5 text[], $6 text[], $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 bigint, $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 bigint
WITH reports AS MATERIALIZED (SELECT q.*, now() AS received_at, s.accused_at, held.kind, held.claimed_at, t.dead_at, t.quarantined_at,
    coalesce((t.activity_id IS NOT NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL), false) AS was_known,
    coalesce((g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes'), false) AS is_guarded,
    CASE WHEN held.claimed_at > coalesce(t.dead_at, '-infinity') AND held.claimed_at <= s.accused_at THEN
        CASE WHEN q.verdict = 'dead' THEN 'dropped'
            WHEN held.claimed_at > coalesce(t.quarantined_at, '-infinity') THEN 'quarantined' ELSE 'none' END
        ELSE 'none' END AS effect
FROM unnest($1, $2, $3, $4, $5::text[]::tid[], $6::text[]::tid[]) WITH ORDINALITY AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
LEFT JOIN LATERAL (SELECT * FROM token_values v WHERE v.ctid = q.value_place AND v.scope_id = $7
    AND v.token_digest = q.token_digest LIMIT 1) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.ctid = q.activity_place AND a.scope_id = $8 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $9 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
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
    WHERE its.scope_id = $10 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $11 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $12 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
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
    WHERE its.scope_id = $13 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $14 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $15 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.scope_id = $16 AND other.token_digest = q.token_digest
        LIMIT $17)
    ) AS h
) AS held
LEFT JOIN quarantine_guards g ON g.scope_id = $18 AND g.kind = held.kind
CROSS JOIN LATERAL (SELECT least(coalesce(q.reported_at, now()), now()) AS accused_at) AS s), accused AS (UPDATE token_values t SET
    dead_at = CASE WHEN r.verdict = 'dead' THEN greatest(t.dead_at, r.accused_at) ELSE t.dead_at END,
    quarantined_at = CASE WHEN r.verdict = 'suspect' AND (t.quarantined_at IS NULL OR r.effect = 'quarantined') THEN r.accused_at ELSE t.quarantined_at END, quarantined_kind = CASE WHEN r.verdict = 'suspect' AND (t.quarantined_at IS NULL OR r.effect = 'quarantined') THEN r.kind ELSE t.quarantined_kind END, quarantine_reason = CASE WHEN r.verdict = 'suspect' AND (t.quarantined_at IS NULL OR r.effect = 'quarantined') THEN r.reason ELSE t.quarantine_reason END,
    touched_at = CASE WHEN t.activity_id IS NULL THEN r.received_at ELSE t.touched_at END
FROM reports r
WHERE (r.verdict = 'dead' OR (r.verdict = 'suspect' AND r.claimed_at <= r.accused_at AND NOT r.is_guarded)) AND t.ctid = r.value_place AND t.scope_id = $19
RETURNING t.token_digest, t.activity_id, t.installation_hash, t.dead_at, t.purged_at, t.quarantined_at, r.effect, r.activity_place), revised AS (UPDATE activities a SET revision = a.revision + CASE WHEN t.effect <> 'none' THEN 1 ELSE 0 END,
    withheld = CASE WHEN a.withheld IN ('taken-over', 'kind-conflict') THEN a.withheld
        WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
        WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
        WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined' END
FROM accused t
WHERE a.ctid = t.activity_place AND a.scope_id = $20 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()), delivered AS (
    UPDATE token_values t SET delivered_at = now() FROM reports r
    WHERE r.verdict = 'delivered' AND t.ctid = r.value_place AND t.scope_id = $21
)
SELECT CASE WHEN r.kind IS NULL THEN CASE WHEN r.was_known THEN 'retired' ELSE 'unknown' END
    WHEN r.verdict = 'dead' THEN
        CASE WHEN r.claimed_at <= greatest(r.dead_at, r.accused_at) THEN 'dropped' ELSE 'kept-newer' END
    WHEN r.verdict = 'suspect' THEN
        CASE WHEN r.claimed_at <= r.quarantined_at
            OR ((r.verdict = 'dead' OR (r.verdict = 'suspect' AND r.claimed_at <= r.accused_at AND NOT r.is_guarded)) AND (r.quarantined_at IS NULL OR r.effect = 'quarantined'))
            THEN 'quarantined'
        WHEN r.is_guarded THEN 'guarded' ELSE 'kept-newer' END
    WHEN r.verdict = 'delivered' THEN 'delivered' ELSE 'kept' END,
    r.kind
FROM reports r
ORDER BY r.position;

-- feedback, 10: $1 bytea[], $2 text[], $3 timestamp with time zone[], $4 text[], $5 text[], $6 text[], $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 bigint, $17 bigint, $18 bigint, $19 bigint
WITH reports AS MATERIALIZED (SELECT q.*, now() AS received_at, s.accused_at, held.kind, held.claimed_at, t.dead_at, t.quarantined_at,
    coalesce((t.activity_id IS NOT NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL), false) AS was_known,
    coalesce((g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes'), false) AS is_guarded,
    CASE WHEN held.claimed_at > coalesce(t.dead_at, '-infinity') AND held.claimed_at <= s.accused_at THEN
        CASE WHEN q.verdict = 'dead' THEN 'dropped'
            WHEN held.claimed_at > coalesce(t.quarantined_at, '-infinity') THEN 'quarantined' ELSE 'none' END
        ELSE 'none' END AS effect
FROM unnest($1, $2, $3, $4, $5::text[]::tid[], $6::text[]::tid[]) WITH ORDINALITY AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
LEFT JOIN LATERAL (SELECT * FROM token_values v WHERE v.ctid = q.value_place AND v.scope_id = $7
    AND v.token_digest = q.token_digest LIMIT 1) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.scope_id = $8 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $9 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
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
    WHERE its.scope_id = $10 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $11 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $12 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
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
    WHERE its.scope_id = $13 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $14 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $15 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.scope_id = $16 AND other.token_digest = q.token_digest
        LIMIT $17)
    ) AS h
) AS held
LEFT JOIN quarantine_guards g ON g.scope_id = $18 AND g.kind = held.kind
CROSS JOIN LATERAL (SELECT least(coalesce(q.reported_at, now()), now()) AS accused_at) AS s), delivered AS (
    UPDATE token_values t SET delivered_at = now() FROM reports r
    WHERE r.verdict = 'delivered' AND t.ctid = r.value_place AND t.scope_id = $19
)
SELECT CASE WHEN r.kind IS NULL THEN CASE WHEN r.was_known THEN 'retired' ELSE 'unknown' END
    WHEN r.verdict = 'dead' THEN
        CASE WHEN r.claimed_at <= greatest(r.dead_at, r.accused_at) THEN 'dropped' ELSE 'kept-newer' END
    WHEN r.verdict = 'suspect' THEN
        CASE WHEN r.claimed_at <= r.quarantined_at
            OR ((r.verdict = 'dead' OR (r.verdict = 'suspect' AND r.claimed_at <= r.accused_at AND NOT r.is_guarded)) AND (r.quarantined_at IS NULL OR r.effect = 'quarantined'))
            THEN 'quarantined'
        WHEN r.is_guarded THEN 'guarded' ELSE 'kept-newer' END
    WHEN r.verdict = 'delivered' THEN 'delivered' ELSE 'kept' END,
    r.kind
FROM reports r
ORDER BY r.position;
