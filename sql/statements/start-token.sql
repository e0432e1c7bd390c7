-- start token, 1: the same as device token, 1

-- start token, 2: $1 bigint, $2 bytea, $3 text, $4 text, $5 boolean, $6 bytea, $7 bytea, $8 timestamp with time zone, $9 timestamp with time zone, $10 bytea, $11 timestamp with time zone, $12 bigint, $13 bigint, $14 bytea, $15 text, $16 text, $17 bigint, $18 bytea, $19 bigint, $20 bigint, $21 bytea, $22 bigint, $23 bigint, $24 bytea, $25 text, $26 text, $27 bigint, $28 bytea, $29 text, $30 bigint, $31 bigint
INSERT INTO installation_tokens AS stored (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
)
WITH given (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
) AS MATERIALIZED (
SELECT $1, $2, $3, $4, $5,
    CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN $6 END, sha256($7),
    r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
    r.received_at,
    CASE WHEN r.observed_at <= r.removed_at THEN 'refused'::activity_outcome ELSE 'registered' END, r.removed_at
FROM apps app CROSS JOIN (SELECT clock.received_at, i.removed_at, CASE WHEN $8 IS NOT NULL
        THEN $9
    WHEN known.token_digest = sha256($10) AND known.token IS NOT NULL THEN known.observed_at
    ELSE clock.received_at END AS observed_at,
    $11 IS NULL
        AND EXISTS (SELECT FROM token_values held WHERE held.scope_id = $12
AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.claimed_at AND coalesce(held.dead_at < known.claimed_at, true)) AS ends_quarantine
FROM installations i
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.scope_id IS NOT NULL) AS clock
LEFT JOIN installation_tokens known ON known.scope_id = $13 AND known.installation_hash = $14 AND known.kind = $15
AND known.attributes_type = $16
WHERE i.scope_id = $17 AND i.installation_hash = $18) AS r
WHERE app.app_id = $19 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $20 AND held.installation_hash = $21 AND held.request_number = $22) AND (EXISTS (SELECT FROM installation_tokens known WHERE known.scope_id = $23 AND known.installation_hash = $24 AND known.kind = $25
AND known.attributes_type = $26) OR (SELECT count(*) FROM (
    SELECT FROM installation_tokens other WHERE other.scope_id = $27 AND other.installation_hash = $28
        AND other.kind = $29 LIMIT $30
) AS others) < $31)
)
SELECT * FROM given
ON CONFLICT (scope_id, installation_hash, kind, attributes_type)
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

-- start token, 3: $1 bytea, $2 timestamp with time zone, $3 bigint, $4 bytea, $5 text, $6 text, $7 bigint, $8 bytea, $9 bigint, $10 timestamp with time zone, $11 bytea
INSERT INTO token_values AS stored (scope_id, token_digest, start_observed_at)
SELECT r.scope_id, sha256($1), coalesce($2, r.observed_at)
FROM installation_tokens r WHERE r.scope_id = $3 AND r.installation_hash = $4 AND r.kind = $5
AND r.attributes_type = $6 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $7 AND held.installation_hash = $8 AND held.request_number = $9)
AND ($10 IS NOT NULL OR r.token_digest = sha256($11))
ON CONFLICT (scope_id, token_digest) DO UPDATE SET
    start_observed_at = greatest(stored.start_observed_at, excluded.start_observed_at),
    touched_at = excluded.touched_at;

-- start token, 4: the same as device token, 5

-- start token, 5: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bytea, $6 text, $7 text, $8 bigint, $9 bytea, $10 bigint, $11 bigint, $12 bigint, $13 bytea, $14 text, $15 text, $16 bigint, $17 bytea, $18 bigint, $19 bigint, $20 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT r.outcome::text AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $4 AND r.installation_hash = $5 AND r.kind = $6
AND r.attributes_type = $7 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $8 AND held.installation_hash = $9 AND held.request_number = $10)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $11
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
UNION ALL
SELECT 'dropped', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $12 AND r.installation_hash = $13 AND r.kind = $14
AND r.attributes_type = $15 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $16 AND held.installation_hash = $17 AND held.request_number = $18)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $19
AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.scope_id = $20
    AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE r.claimed_at <= t.dead_at) AS given) AS e
)
SELECT * FROM given;
