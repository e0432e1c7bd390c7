-- purge of device tokens, 1: $1 bigint[], $2 bigint, $3 text, $4 bigint
SELECT FROM (
    SELECT DISTINCT held.it AS hash
    FROM (SELECT found.it FROM unnest($1) AS named (number) CROSS JOIN LATERAL (
    SELECT its.installation_hash AS it FROM installation_tokens its
    WHERE its.scope_id = $2 AND its.token_number > 0
AND its.kind = $3 AND its.token_number = named.number LIMIT 1
) AS found) AS held
    ORDER BY 1
) AS named CROSS JOIN LATERAL (
    SELECT FROM installations i WHERE i.scope_id = $4 AND i.installation_hash = named.hash
    LIMIT 1 FOR UPDATE
) AS locked;

-- purge of device tokens, 2: $1 bigint[], $2 text, $3 bigint, $4 text, $5 bigint, $6 interval, $7 bigint, $8 text, $9 interval
SELECT r.number FROM unnest($1) AS named (number) CROSS JOIN LATERAL (
    SELECT s.scope_id, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.withheld
FROM installation_tokens s
WHERE s.token IS NOT NULL AND s.kind = $2 AND s.scope_id = $3 AND s.token_number > 0
AND s.kind = $4 AND s.token_number = named.number
    LIMIT 1
) AS r
WHERE r.scope_id = $5 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $7 AND q.quarantined_kind = $8 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $9 OR r.withheld = 'quarantined')
AND (r.withheld = 'quarantined') IS NOT FALSE ORDER BY 1;

-- purge of device tokens, 3: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bigint[], $7 bigint, $8 text
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'purged' AS type,
    NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM installation_tokens r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $4
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE r.scope_id = $5::numeric AND r.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($6) AS named (number) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installation_tokens its
    WHERE its.scope_id = $7 AND its.token_number > 0
AND its.kind = $8 AND its.token_number = named.number LIMIT 1
) AS found
))) AS given) AS e
)
SELECT * FROM given;

-- purge of device tokens, 4: $1 bigint, $2 bigint[], $3 bigint, $4 text
UPDATE installation_tokens r SET token = NULL, withheld = NULL, deleted_at = greatest(r.deleted_at, r.observed_at),
    purged_at = greatest(r.deleted_at, r.observed_at), touched_at = statement_timestamp()
WHERE r.scope_id = $1::numeric AND r.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (number) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installation_tokens its
    WHERE its.scope_id = $3 AND its.token_number > 0
AND its.kind = $4 AND its.token_number = named.number LIMIT 1
) AS found
));
