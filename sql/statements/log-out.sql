-- log-out, 1: the same as device token, 1

-- log-out, 2: $1 timestamp with time zone, $2 bigint, $3 bytea, $4 bigint, $5 bytea
SELECT coalesce($1, greatest(clock_timestamp(), i.aliases_observed_at, i.metadata_observed_at,
    i.subject_observed_at, (SELECT max(r.observed_at) FROM installation_tokens r WHERE r.scope_id = $2 AND r.installation_hash = $3)))
FROM installations i WHERE i.scope_id = $4 AND i.installation_hash = $5;

-- log-out, 3: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bytea, $6 timestamp with time zone, $7 bigint, $8 bigint, $9 bytea, $10 timestamp with time zone
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'logged-out' AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
NULL::bytea AS token_digest, NULL::text AS token_kind, NULL::text AS attributes_type
FROM installations i
WHERE i.scope_id = $4 AND i.installation_hash = $5 AND coalesce(i.removed_at, '-infinity') < $6
UNION ALL
SELECT 'deleted', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM installation_tokens r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $7
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE r.scope_id = $8 AND r.installation_hash = $9 AND r.token IS NOT NULL AND r.observed_at <= $10) AS given) AS e
)
SELECT * FROM given;

-- log-out, 4: $1 bigint, $2 bytea, $3 bigint, $4 bytea, $5 timestamp with time zone
DELETE FROM start_leases l WHERE l.scope_id = $1 AND l.installation_hash = $2
    AND EXISTS (SELECT FROM installations i WHERE i.scope_id = $3 AND i.installation_hash = $4 AND coalesce(i.removed_at, '-infinity') < $5);

-- log-out, 5: $1 timestamp with time zone, $2 timestamp with time zone, $3 timestamp with time zone, $4 timestamp with time zone, $5 timestamp with time zone, $6 timestamp with time zone, $7 timestamp with time zone, $8 timestamp with time zone, $9 bigint, $10 bytea
UPDATE installations i SET
    -- The next user begins anew: it has no owner.
    subject = CASE WHEN i.subject_observed_at > $1 THEN i.subject END,
    subject_observed_at = CASE WHEN i.subject_observed_at > $2 THEN i.subject_observed_at END,
    removed_at = greatest(i.removed_at, $3),
    full_state_at = greatest(i.full_state_at, $4),
    aliases = CASE WHEN i.aliases_observed_at > $5 THEN i.aliases END,
    aliases_observed_at = CASE WHEN i.aliases_observed_at > $6 THEN i.aliases_observed_at END,
    metadata = CASE WHEN i.metadata_observed_at > $7 THEN i.metadata END,
    metadata_observed_at = CASE WHEN i.metadata_observed_at > $8 THEN i.metadata_observed_at END
WHERE i.scope_id = $9 AND i.installation_hash = $10;

-- log-out, 6: $1 bigint, $2 bytea, $3 timestamp with time zone
UPDATE installation_tokens r SET token = NULL, outcome = 'ended', touched_at = statement_timestamp()
WHERE r.scope_id = $1 AND r.installation_hash = $2 AND r.token IS NOT NULL AND r.observed_at <= $3;

-- log-out, 7: the same as installation, 6

-- log-out, 8: the same as installation, 7
