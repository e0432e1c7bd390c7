-- release, 1 of 8: the same as device token, deleted and released, 4 of 7

-- release, 2 of 8: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bigint, $8 bigint, $9 text, $10 bigint, $11 text, $12 bigint, $13 text, $14 text
INSERT INTO events (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint
)
WITH given (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4)
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'released' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM token_holders current
    WHERE current.app_number = $5 AND current.environment = $6::apns_environment AND current.token_digest = t.token_digest
    LIMIT $7
) AS h
WHERE t.app_number = $8 AND t.environment = $9::apns_environment AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.app_number = $10 AND v.environment = $11::apns_environment AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.app_number = $12 AND a.environment = $13::apns_environment AND a.activity_id = $14))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- release, 3 of 8: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 bigint, $7 text, $8 bigint, $9 text, $10 bigint, $11 text, $12 text
UPDATE activities a SET revision = a.revision + 1
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM token_holders current
    WHERE current.app_number = $3 AND current.environment = $4::apns_environment AND current.token_digest = t.token_digest
    LIMIT $5
) AS h
WHERE t.app_number = $6 AND t.environment = $7::apns_environment AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.app_number = $8 AND v.environment = $9::apns_environment AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.app_number = $10 AND a.environment = $11::apns_environment AND a.activity_id = $12))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- release, 4 of 8: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 text
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL,
    effect = 'none'
WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment AND t.token_digest = ANY(ARRAY(SELECT a.token_digest FROM activities a
JOIN token_values v ON v.app_number = $5 AND v.environment = $6::apns_environment AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.app_number = $7 AND a.environment = $8::apns_environment AND a.activity_id = $9))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;

-- release, 5 of 8: the same as device token, deleted and released, 4 of 7

-- release, 6 of 8: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bigint, $8 bigint, $9 text, $10 bigint, $11 text
INSERT INTO events (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint
)
WITH given (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4)
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'released' AS type, h.activity_id, h.installation_hash, h.subject, h.aliases, h.token_digest FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM token_holders current
    WHERE current.app_number = $5 AND current.environment = $6::apns_environment AND current.token_digest = t.token_digest
    LIMIT $7
) AS h
WHERE t.app_number = $8 AND t.environment = $9::apns_environment AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM token_values v
WHERE v.app_number = $10 AND v.environment = $11::apns_environment AND v.quarantined_kind IN (SELECT kinds.kind FROM token_kinds kinds)
    AND v.quarantined_at IS NOT NULL))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')) AS given) AS e
)
SELECT * FROM given;

-- release, 7 of 8: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 bigint, $7 text, $8 bigint, $9 text
UPDATE activities a SET revision = a.revision + 1
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM token_values t CROSS JOIN LATERAL (
    SELECT * FROM token_holders current
    WHERE current.app_number = $3 AND current.environment = $4::apns_environment AND current.token_digest = t.token_digest
    LIMIT $5
) AS h
WHERE t.app_number = $6 AND t.environment = $7::apns_environment AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM token_values v
WHERE v.app_number = $8 AND v.environment = $9::apns_environment AND v.quarantined_kind IN (SELECT kinds.kind FROM token_kinds kinds)
    AND v.quarantined_at IS NOT NULL))
    AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')));

-- release, 8 of 8: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text
UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL,
    effect = 'none'
WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.token_digest = ANY(ARRAY(
    SELECT t.token_digest FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment AND t.token_digest = ANY(ARRAY(SELECT v.token_digest FROM token_values v
WHERE v.app_number = $5 AND v.environment = $6::apns_environment AND v.quarantined_kind IN (SELECT kinds.kind FROM token_kinds kinds)
    AND v.quarantined_at IS NOT NULL))
    ORDER BY t.token_digest FOR UPDATE
))
RETURNING v.token_digest;
