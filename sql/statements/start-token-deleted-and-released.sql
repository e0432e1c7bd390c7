-- start token, deleted and released, 1: the same as device token, 1

-- start token, deleted and released, 2: $1 bigint, $2 bytea, $3 text, $4 text, $5 boolean, $6 timestamp with time zone, $7 bigint, $8 bigint, $9 bytea, $10 bigint, $11 bigint, $12 bytea, $13 text, $14 text, $15 bigint, $16 bytea, $17 text, $18 bigint, $19 bigint
INSERT INTO installation_tokens AS stored (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, deleted_at, outcome
)
WITH given (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, deleted_at, outcome
) AS MATERIALIZED (
SELECT $1, $2, $3, $4, $5,
    coalesce($6, clock_timestamp()), 'refused'::activity_outcome
FROM apps app WHERE app.app_id = $7 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $8 AND held.installation_hash = $9 AND held.request_number = $10) AND (EXISTS (SELECT FROM installation_tokens known WHERE known.scope_id = $11 AND known.installation_hash = $12 AND known.kind = $13
AND known.attributes_type = $14) OR (SELECT count(*) FROM (
    SELECT FROM installation_tokens other WHERE other.scope_id = $15 AND other.installation_hash = $16
        AND other.kind = $17 LIMIT $18
) AS others) < $19)
)
SELECT * FROM given
ON CONFLICT (scope_id, installation_hash, kind, attributes_type) DO UPDATE SET
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
