-- start token, 1: the same as device token, 1

-- start token, 2: $1 text, $2 bytea, $3 text, $4 text, $5 boolean, $6 bytea, $7 bytea, $8 timestamp with time zone, $9 timestamp with time zone, $10 bytea, $11 timestamp with time zone, $12 bigint, $13 text, $14 bigint, $15 text, $16 bytea, $17 text, $18 text, $19 bigint, $20 text, $21 bytea, $22 bigint, $23 bigint, $24 text, $25 bytea, $26 bigint, $27 bigint, $28 text, $29 bytea, $30 text, $31 text, $32 bigint, $33 text, $34 bytea, $35 text, $36 bigint, $37 bigint
INSERT INTO installation_tokens AS stored (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
)
WITH given (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
) AS MATERIALIZED (
SELECT app.app_number, $1::apns_environment, $2, $3,
    $4, $5,
    CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN $6 END, sha256($7),
    r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
    r.received_at,
    CASE WHEN r.observed_at <= r.removed_at THEN 'refused'::activity_outcome ELSE 'registered' END, r.removed_at
FROM apps app CROSS JOIN (SELECT clock.received_at, i.removed_at, CASE WHEN $8 IS NOT NULL
        THEN $9
    WHEN known.token_digest = sha256($10) AND known.token IS NOT NULL THEN known.observed_at
    ELSE clock.received_at END AS observed_at,
    $11 IS NULL
        AND EXISTS (SELECT FROM token_values held WHERE held.app_number = $12 AND held.environment = $13::apns_environment
AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.claimed_at AND coalesce(held.dead_at < known.claimed_at, true)) AS ends_quarantine
FROM installations i
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.app_number IS NOT NULL) AS clock
LEFT JOIN installation_tokens known ON known.app_number = $14 AND known.environment = $15::apns_environment
AND known.installation_hash = $16 AND known.kind = $17
AND known.attributes_type = $18
WHERE i.app_number = $19 AND i.environment = $20::apns_environment
AND i.installation_hash = $21) AS r
WHERE app.app_number = $22 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $23 AND held.environment = $24::apns_environment
AND held.installation_hash = $25 AND held.request_number = $26) AND (EXISTS (SELECT FROM installation_tokens known WHERE known.app_number = $27 AND known.environment = $28::apns_environment
AND known.installation_hash = $29 AND known.kind = $30
AND known.attributes_type = $31) OR (SELECT count(*) FROM (
    SELECT FROM installation_tokens other WHERE other.app_number = $32 AND other.environment = $33::apns_environment
AND other.installation_hash = $34
        AND other.kind = $35 LIMIT $36
) AS others) < $37)
)
SELECT * FROM given
ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type)
DO UPDATE SET token = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN CASE WHEN NOT coalesce(excluded.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false) THEN excluded.token END
ELSE stored.token END,
token_digest = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN excluded.token_digest ELSE stored.token_digest END,
observed_at = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN excluded.observed_at ELSE stored.observed_at END,
claimed_at = CASE WHEN excluded.token_digest = stored.token_digest THEN greatest(stored.claimed_at, excluded.claimed_at)
WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN excluded.claimed_at ELSE stored.claimed_at END,
previous_claimed_at = CASE WHEN excluded.token_digest = stored.token_digest THEN stored.claimed_at END,
confirmed_at = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) OR excluded.token_digest = stored.token_digest THEN greatest(stored.confirmed_at, excluded.confirmed_at)
ELSE stored.confirmed_at END,
outcome = CASE WHEN stored.token_digest IS NULL
THEN CASE WHEN coalesce(excluded.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false) THEN 'refused'::activity_outcome ELSE 'registered' END
WHEN coalesce(stored.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false)
THEN CASE WHEN coalesce(excluded.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false) THEN 'refused'::activity_outcome ELSE 'reactivated' END
WHEN excluded.token_digest = stored.token_digest THEN 'refreshed'
WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN 'rotated' ELSE 'superseded' END,
touched_at = excluded.touched_at, installation_removed_at = excluded.installation_removed_at;

-- start token, 3: $1 bytea, $2 timestamp with time zone, $3 bigint, $4 text, $5 bytea, $6 text, $7 text, $8 bigint, $9 text, $10 bytea, $11 bigint, $12 timestamp with time zone, $13 bytea
INSERT INTO token_values AS stored (app_number, environment, token_digest, start_observed_at)
SELECT r.app_number, r.environment, sha256($1), coalesce($2, r.observed_at)
FROM installation_tokens r WHERE r.app_number = $3 AND r.environment = $4::apns_environment
AND r.installation_hash = $5 AND r.kind = $6
AND r.attributes_type = $7 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $8 AND held.environment = $9::apns_environment
AND held.installation_hash = $10 AND held.request_number = $11)
AND ($12 IS NOT NULL OR r.token_digest = sha256($13))
ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET
    start_observed_at = greatest(stored.start_observed_at, excluded.start_observed_at),
    touched_at = excluded.touched_at;

-- start token, 4: the same as device token, 5

-- start token, 5: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bytea, $8 text, $9 text, $10 bigint, $11 text, $12 bytea, $13 bigint, $14 bigint, $15 text, $16 bigint, $17 text, $18 bytea, $19 text, $20 text, $21 bigint, $22 text, $23 bytea, $24 bigint, $25 bigint, $26 text, $27 bigint, $28 text
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT r.outcome::text AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $5 AND r.environment = $6::apns_environment
AND r.installation_hash = $7 AND r.kind = $8
AND r.attributes_type = $9 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $10 AND held.environment = $11::apns_environment
AND held.installation_hash = $12 AND held.request_number = $13)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $14 AND its.environment = $15::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
UNION ALL
SELECT 'dropped', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $16 AND r.environment = $17::apns_environment
AND r.installation_hash = $18 AND r.kind = $19
AND r.attributes_type = $20 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $21 AND held.environment = $22::apns_environment
AND held.installation_hash = $23 AND held.request_number = $24)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $25 AND its.environment = $26::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = $27 AND v.environment = $28::apns_environment
    AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE r.claimed_at <= t.dead_at) AS given) AS e
)
SELECT * FROM given;
