-- log-out, 1: the same as device token, 1

-- log-out, 2: $1 timestamp with time zone, $2 bigint, $3 text, $4 bytea, $5 bigint, $6 text, $7 bytea
SELECT coalesce($1, greatest(clock_timestamp(), i.aliases_observed_at, i.metadata_observed_at,
    i.subject_observed_at, (SELECT max(r.observed_at) FROM installation_tokens r WHERE r.app_number = $2 AND r.environment = $3::apns_environment
AND r.installation_hash = $4)))
FROM installations i WHERE i.app_number = $5 AND i.environment = $6::apns_environment
AND i.installation_hash = $7;

-- log-out, 3: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea, $6 bigint, $7 timestamp with time zone, $8 bigint
SELECT a.activity_id, a.activity_number FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment
    AND a.activity_id = ANY(ARRAY(
    SELECT own.activity_id FROM activities own
    WHERE own.app_number = $3 AND own.environment = $4::apns_environment
AND own.installation_hash = $5 AND own.ended_at IS NULL AND own.activity_number > $6
        AND own.expires_at > now() AND own.started_at <= $7
    ORDER BY own.activity_number LIMIT $8
))
ORDER BY a.activity_id FOR UPDATE;

-- log-out, 4: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bytea, $8 timestamp with time zone, $9 bigint, $10 text, $11 bigint, $12 text, $13 bytea, $14 timestamp with time zone
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'logged-out' AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
NULL::bytea AS token_digest, NULL::text AS token_kind, NULL::text AS attributes_type
FROM installations i
WHERE i.app_number = $5 AND i.environment = $6::apns_environment
AND i.installation_hash = $7 AND coalesce(i.removed_at, '-infinity') < $8
UNION ALL
SELECT 'deleted', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM installation_tokens r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $9 AND its.environment = $10::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE r.app_number = $11 AND r.environment = $12::apns_environment
AND r.installation_hash = $13 AND r.token IS NOT NULL AND r.observed_at <= $14) AS given) AS e
)
SELECT * FROM given;

-- log-out, 5: $1 bigint, $2 text, $3 bytea, $4 bigint, $5 text, $6 bytea, $7 timestamp with time zone
DELETE FROM start_leases l WHERE l.app_number = $1 AND l.environment = $2::apns_environment
AND l.installation_hash = $3
    AND EXISTS (SELECT FROM installations i WHERE i.app_number = $4 AND i.environment = $5::apns_environment
AND i.installation_hash = $6 AND coalesce(i.removed_at, '-infinity') < $7);

-- log-out, 6: $1 timestamp with time zone, $2 timestamp with time zone, $3 timestamp with time zone, $4 timestamp with time zone, $5 timestamp with time zone, $6 timestamp with time zone, $7 timestamp with time zone, $8 timestamp with time zone, $9 bigint, $10 text, $11 bytea
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
WHERE i.app_number = $9 AND i.environment = $10::apns_environment
AND i.installation_hash = $11;

-- log-out, 7: $1 bigint, $2 text, $3 bytea, $4 timestamp with time zone
UPDATE installation_tokens r SET token = NULL, outcome = 'ended', touched_at = statement_timestamp()
WHERE r.app_number = $1 AND r.environment = $2::apns_environment
AND r.installation_hash = $3 AND r.token IS NOT NULL AND r.observed_at <= $4;

-- log-out, 8: the same as installation, 6

-- log-out, 9: the same as installation, 7
