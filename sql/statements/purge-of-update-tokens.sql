-- purge of update tokens, 1: $1 bigint, $2 bigint[], $3 bigint
SELECT FROM activities a WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $3 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) ORDER BY a.activity_id FOR UPDATE;

-- purge of update tokens, 2: $1 bigint, $2 bigint, $3 bigint[], $4 bigint
SELECT FROM token_values t WHERE t.scope_id = $1 AND t.token_digest = ANY(ARRAY(
    SELECT a.token_digest FROM activities a WHERE a.scope_id = $2 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($3) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $4 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
))
))
ORDER BY t.token_digest FOR UPDATE;

-- purge of update tokens, 3: $1 bigint[], $2 bigint, $3 bigint, $4 bigint, $5 interval, $6 bigint, $7 text, $8 interval
SELECT r.number FROM unnest($1) AS named (number) CROSS JOIN LATERAL (
    SELECT s.scope_id, s.activity_key AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.value_verdict AS verdict
FROM (SELECT
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
    WHERE its.scope_id = $2 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) s
WHERE s.token IS NOT NULL AND true AND s.scope_id = $3 AND s.activity_key > 0
 AND s.activity_key = named.number
    LIMIT 1
) AS r
WHERE r.scope_id = $4 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $5 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $6 AND q.quarantined_kind = $7 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $8 OR r.expires_at <= now() OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE ORDER BY 1;

-- purge of update tokens, 4: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bigint[], $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'purged' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest,
nullif(h.kind, 'update') AS token_kind, nullif(h.attributes_type, '') AS attributes_type
FROM (
    SELECT v.*, a.token_claimed_at AS purged_claim FROM activities a CROSS JOIN LATERAL (
        SELECT * FROM token_values held
        WHERE held.scope_id = $4 AND held.token_digest = a.token_digest LIMIT 1
    ) AS v
    WHERE a.scope_id = $5 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($6) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $7 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) AND v.activity_id = a.activity_id OFFSET 0
) AS t CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $8 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
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
    WHERE its.scope_id = $9 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $10 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $11 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
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
    WHERE its.scope_id = $12 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $13 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $14 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) current
    WHERE current.scope_id = $15 AND current.token_digest = t.token_digest
    LIMIT $16
) AS h
WHERE h.activity_id IS NULL AND h.claimed_at <= t.purged_claim
    AND h.claimed_at > greatest(t.dead_at, t.quarantined_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- purge of update tokens, 5: $1 bigint, $2 bigint, $3 bigint[], $4 bigint, $5 bigint
UPDATE token_values t SET dead_at = greatest(t.dead_at, its.token_claimed_at),
    purged_at = greatest(t.dead_at, its.token_claimed_at)
FROM (
    SELECT v.ctid AS place, a.token_claimed_at FROM activities a CROSS JOIN LATERAL (
        SELECT held.ctid, held.activity_id FROM token_values held
        WHERE held.scope_id = $1 AND held.token_digest = a.token_digest LIMIT 1
    ) AS v
    WHERE a.scope_id = $2 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($3) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $4 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) AND v.activity_id = a.activity_id OFFSET 0
) AS its
WHERE t.ctid = its.place AND t.scope_id = $5::numeric;

-- purge of update tokens, 6: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint[], $6 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'purged' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type FROM activities a
WHERE a.scope_id = $4 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($5) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $6 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
))) AS given) AS e
)
SELECT * FROM given;

-- purge of update tokens, 7: $1 bigint, $2 bigint[], $3 bigint
UPDATE activities a SET withheld = CASE WHEN a.withheld IN ('taken-over', 'kind-conflict') THEN a.withheld ELSE 'purged' END,
    revision = a.revision + 1, touched_at = statement_timestamp()
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $3 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) AND a.token_digest IS NOT NULL;
