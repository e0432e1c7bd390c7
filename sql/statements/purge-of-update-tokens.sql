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

-- purge of update tokens, 3: $1 bigint[], $2 bigint, $3 bigint, $4 interval, $5 bigint, $6 text, $7 interval
SELECT r.number FROM unnest($1) AS named (number) CROSS JOIN LATERAL (
    SELECT s.scope_id, s.activity_key AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.withheld
FROM activities s
WHERE s.token IS NOT NULL AND true AND s.scope_id = $2 AND s.activity_key > 0
 AND s.activity_key = named.number
    LIMIT 1
) AS r
WHERE r.scope_id = $3 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $5 AND q.quarantined_kind = $6 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.expires_at <= now() OR r.withheld = 'quarantined')
AND (r.withheld = 'quarantined') IS NOT FALSE ORDER BY 1;

-- purge of update tokens, 4: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint[], $11 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'purged' AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM activities a CROSS JOIN LATERAL (
    SELECT * FROM token_values held
    WHERE held.scope_id = $4 AND held.token_digest = a.token_digest AND held.activity_id = a.activity_id
    LIMIT 1
) AS v CROSS JOIN LATERAL (
    (SELECT its.*, its.ctid AS place FROM installation_tokens its
    WHERE its.scope_id = $5 AND its.installation_hash = v.installation_hash
        AND its.kind = v.installation_kind AND its.token_digest = v.token_digest LIMIT 1)
    UNION ALL
    (SELECT its.*, its.ctid AS place FROM installation_tokens its
    WHERE its.scope_id = $6 AND NOT its.has_one_owner AND its.token_digest = v.token_digest
        AND v.installation_hash IS NULL LIMIT $7)
) AS r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $8
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE a.scope_id = $9 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($10) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $11 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) AND r.token IS NOT NULL AND r.claimed_at <= greatest(v.dead_at, a.token_claimed_at) AND r.withheld IS NULL) AS given) AS e
)
SELECT * FROM given;

-- purge of update tokens, 5: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint[], $9 bigint
UPDATE installation_tokens s SET withheld = 'purged'
WHERE s.scope_id = $1::numeric AND s.ctid = ANY(ARRAY(SELECT r.place FROM activities a CROSS JOIN LATERAL (
    SELECT * FROM token_values held
    WHERE held.scope_id = $2 AND held.token_digest = a.token_digest AND held.activity_id = a.activity_id
    LIMIT 1
) AS v CROSS JOIN LATERAL (
    (SELECT its.*, its.ctid AS place FROM installation_tokens its
    WHERE its.scope_id = $3 AND its.installation_hash = v.installation_hash
        AND its.kind = v.installation_kind AND its.token_digest = v.token_digest LIMIT 1)
    UNION ALL
    (SELECT its.*, its.ctid AS place FROM installation_tokens its
    WHERE its.scope_id = $4 AND NOT its.has_one_owner AND its.token_digest = v.token_digest
        AND v.installation_hash IS NULL LIMIT $5)
) AS r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $6
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE a.scope_id = $7 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($8) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $9 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) AND r.token IS NOT NULL AND r.claimed_at <= greatest(v.dead_at, a.token_claimed_at)));

-- purge of update tokens, 6: $1 bigint, $2 bigint, $3 bigint[], $4 bigint, $5 bigint
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

-- purge of update tokens, 7: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint[], $6 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'purged' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases, a.token_digest,
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

-- purge of update tokens, 8: $1 bigint, $2 bigint[], $3 bigint
UPDATE activities a SET withheld = CASE WHEN a.withheld IN ('taken-over', 'kind-conflict') THEN a.withheld ELSE 'purged' END,
    revision = a.revision + 1, touched_at = statement_timestamp()
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (number) CROSS JOIN LATERAL (
    SELECT its.activity_id AS it FROM activities its
    WHERE its.scope_id = $3 AND its.activity_key > 0
 AND its.activity_key = named.number LIMIT 1
) AS found
)) AND a.token_digest IS NOT NULL;
