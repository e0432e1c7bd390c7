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

-- device token, deleted and released, 3: $1 bigint, $2 interval, $3 text, $4 text, $5 text, $6 bigint, $7 text, $8 bigint, $9 text, $10 bytea, $11 text, $12 text, $13 bigint, $14 text, $15 bytea, $16 bigint
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT $5 AS type,
    NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM installation_tokens r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $6 AND its.environment = $7::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE r.app_number = $8 AND r.environment = $9::apns_environment
AND r.installation_hash = $10 AND r.kind = $11
AND r.attributes_type = $12 AND r.outcome = 'ended' AND EXISTS (SELECT FROM installations held WHERE held.app_number = $13 AND held.environment = $14::apns_environment
AND held.installation_hash = $15 AND held.request_number = $16)) AS given) AS e
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

-- device token, deleted and released, 6: $1 bigint, $2 interval, $3 text, $4 text, $5 text, $6 bigint, $7 text, $8 bigint, $9 text, $10 bytea, $11 text, $12 text, $13 bigint, $14 text, $15 bigint, $16 text, $17 bytea, $18 text, $19 text
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT $5 AS type,
    NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM installation_tokens r CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $6 AND its.environment = $7::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
WHERE r.app_number = $8 AND r.environment = $9::apns_environment
AND r.installation_hash = $10 AND r.kind = $11
AND r.attributes_type = $12 AND EXISTS (SELECT FROM token_values t WHERE t.app_number = $13 AND t.environment = $14::apns_environment
AND t.token_digest = (
    SELECT own.token_digest FROM installation_tokens own
    WHERE own.app_number = $15 AND own.environment = $16::apns_environment
AND own.installation_hash = $17 AND own.kind = $18
AND own.attributes_type = $19 AND own.token IS NOT NULL
) AND t.quarantined_at IS NOT NULL)) AS given) AS e
)
SELECT * FROM given;

-- device token, deleted and released, 7: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea, $6 text, $7 text
UPDATE token_values t SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL,
    touched_at = statement_timestamp()
WHERE t.app_number = $1 AND t.environment = $2::apns_environment
AND t.token_digest = (
    SELECT own.token_digest FROM installation_tokens own
    WHERE own.app_number = $3 AND own.environment = $4::apns_environment
AND own.installation_hash = $5 AND own.kind = $6
AND own.attributes_type = $7 AND own.token IS NOT NULL
);
