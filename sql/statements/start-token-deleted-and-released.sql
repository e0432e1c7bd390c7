-- start token, deleted and released, 1: the same as device token, 1

-- start token, deleted and released, 2: $1 text, $2 bytea, $3 text, $4 text, $5 boolean, $6 timestamp with time zone, $7 bigint, $8 bigint, $9 text, $10 bytea, $11 bigint, $12 bigint, $13 text, $14 bytea, $15 text, $16 text, $17 bigint, $18 text, $19 bytea, $20 text, $21 bigint, $22 bigint
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
AND held.installation_hash = $10 AND held.request_number = $11) AND (EXISTS (SELECT FROM installation_tokens known WHERE known.app_number = $12 AND known.environment = $13::apns_environment
AND known.installation_hash = $14 AND known.kind = $15
AND known.attributes_type = $16) OR (SELECT count(*) FROM (
    SELECT FROM installation_tokens other WHERE other.app_number = $17 AND other.environment = $18::apns_environment
AND other.installation_hash = $19
        AND other.kind = $20 LIMIT $21
) AS others) < $22)
)
SELECT * FROM given
ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type) DO UPDATE SET
    deleted_at = greatest(stored.deleted_at, greatest(excluded.deleted_at, stored.observed_at)),
    token = CASE WHEN stored.observed_at > greatest(excluded.deleted_at, stored.observed_at) THEN stored.token END,
    outcome = CASE WHEN stored.token IS NOT NULL AND stored.observed_at <= greatest(excluded.deleted_at, stored.observed_at)
        THEN 'ended'::activity_outcome ELSE 'refused' END,
    previous_claimed_at = NULL, touched_at = excluded.touched_at
RETURNING 1;

-- start token, deleted and released, 3: the same as device token, deleted and released, 3

-- start token, deleted and released, 4: the same as device token, deleted and released, 4

-- start token, deleted and released, 5: the same as device token, deleted and released, 5

-- start token, deleted and released, 6: the same as device token, deleted and released, 6

-- start token, deleted and released, 7: the same as device token, deleted and released, 7

-- start token, deleted and released, 8: the same as device token, deleted and released, 8
