-- full state, 1: $1 timestamp with time zone, $2 bigint, $3 text, $4 bytea
UPDATE installations i SET previous_full_state_at = i.full_state_at,
    full_state_at = greatest(i.full_state_at, $1)
WHERE i.app_number = $2 AND i.environment = $3::apns_environment
    AND i.installation_hash = $4;

-- full state, 2: $1 bigint, $2 text, $3 bytea, $4 bigint
SELECT count(*) FROM (SELECT a.activity_id FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment
    AND a.installation_hash = $3 AND a.ended_at IS NULL LIMIT $4) AS counted;

-- full state, 3: $1 bigint, $2 text, $3 text[], $4 bigint, $5 text, $6 bytea, $7 bigint, $8 bigint, $9 text, $10 bytea[]
SELECT FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment
    -- One list, for the index to be asked by: by several the planner may rather look through all of the app.
    AND a.activity_id = ANY($3 || ARRAY(SELECT a.activity_id FROM activities a
WHERE a.app_number = $4 AND a.environment = $5::apns_environment
    AND a.installation_hash = $6 AND a.ended_at IS NULL LIMIT $7) || ARRAY(
        SELECT t.activity_id FROM token_values t
        WHERE t.app_number = $8 AND t.environment = $9::apns_environment
            AND t.token_digest = ANY($10)
    ))
ORDER BY a.activity_id FOR UPDATE;

-- full state, 4: $1 bigint, $2 text, $3 bytea, $4 timestamp with time zone, $5 bigint, $6 text, $7 text[]
UPDATE activities a SET outcome = 'dismissed', revision = a.revision + 1, touched_at = statement_timestamp(),
    installation_full_state_at = i.full_state_at
FROM installations i
WHERE i.app_number = $1 AND i.environment = $2::apns_environment
    AND i.installation_hash = $3 AND i.full_state_at = $4
    AND a.app_number = $5 AND a.environment = $6::apns_environment
    AND a.installation_hash = i.installation_hash AND a.ended_at IS NULL AND a.expires_at > now()
    AND a.activity_id <> ALL($7)
    AND a.last_observed_at < i.full_state_at
    AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
RETURNING a.activity_id;

-- full state, 5: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 bytea, $10 text[], $11 timestamp with time zone
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'dismissed' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM activities a JOIN installations i ON i.app_number = $5 AND i.environment = $6::apns_environment
    AND i.installation_hash = a.installation_hash
WHERE a.app_number = $7 AND a.environment = $8::apns_environment
    AND a.installation_hash = $9 AND a.ended_at IS NULL AND a.outcome = 'dismissed'
    AND a.activity_id <> ALL($10) AND i.full_state_at = $11
    AND a.last_observed_at < i.full_state_at
    AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)) AS given) AS e
)
SELECT * FROM given;
