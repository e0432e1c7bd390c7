-- full state, 1: $1 timestamp with time zone, $2 bigint, $3 bytea
UPDATE installations i SET previous_full_state_at = i.full_state_at,
    full_state_at = greatest(i.full_state_at, $1)
WHERE i.scope_id = $2
    AND i.installation_hash = $3;

-- full state, 2: $1 bigint, $2 bytea, $3 bigint
SELECT count(*) FROM (SELECT a.activity_id FROM activities a
WHERE a.scope_id = $1
    AND a.installation_hash = $2 AND a.ended_at IS NULL LIMIT $3) AS counted;

-- full state, 3: $1 bigint, $2 text[], $3 bigint, $4 bytea, $5 bigint, $6 bigint, $7 bytea[]
SELECT FROM activities a
WHERE a.scope_id = $1
    -- One list, for the index to be asked by: by several the planner may rather look through all of the app.
    AND a.activity_id = ANY($2 || ARRAY(SELECT a.activity_id FROM activities a
WHERE a.scope_id = $3
    AND a.installation_hash = $4 AND a.ended_at IS NULL LIMIT $5) || ARRAY(
        SELECT t.activity_id FROM token_values t
        WHERE t.scope_id = $6
            AND t.token_digest = ANY($7)
    ))
ORDER BY a.activity_id FOR UPDATE;

-- full state, 4: $1 bigint, $2 bytea, $3 timestamp with time zone, $4 bigint, $5 text[]
UPDATE activities a SET outcome = 'dismissed', revision = a.revision + 1, touched_at = statement_timestamp(),
    installation_full_state_at = i.full_state_at
FROM installations i
WHERE i.scope_id = $1
    AND i.installation_hash = $2 AND i.full_state_at = $3
    AND a.scope_id = $4
    AND a.installation_hash = i.installation_hash AND a.ended_at IS NULL AND a.expires_at > now()
    AND a.activity_id <> ALL($5)
    AND a.last_observed_at < i.full_state_at
    AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
RETURNING a.activity_id;

-- full state, 5: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bigint, $6 bytea, $7 text[], $8 timestamp with time zone
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'dismissed' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM activities a JOIN installations i ON i.scope_id = $4
    AND i.installation_hash = a.installation_hash
WHERE a.scope_id = $5
    AND a.installation_hash = $6 AND a.ended_at IS NULL AND a.outcome = 'dismissed'
    AND a.activity_id <> ALL($7) AND i.full_state_at = $8
    AND a.last_observed_at < i.full_state_at
    AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)) AS given) AS e
)
SELECT * FROM given;
