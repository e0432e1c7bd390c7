-- channels, 1: $1 text, $2 bigint
INSERT INTO channel_quotas AS stored (app_number, environment)
SELECT app.app_number, $1::apns_environment FROM apps app WHERE app.app_number = $2
ON CONFLICT (app_number, environment) DO UPDATE SET touched_at = excluded.touched_at
RETURNING stored.touched_at;

-- channels, 2: $1 bigint, $2 text, $3 text, $4 text, $5 text, $6 bigint
INSERT INTO channels (app_number, environment, kind, value, channel_id, message_storage_policy)
VALUES ($1, $2::apns_environment, $3, $4, $5,
    $6)
ON CONFLICT (app_number, environment, kind, value) DO UPDATE SET channel_id = excluded.channel_id,
    message_storage_policy = excluded.message_storage_policy, updated_at = excluded.updated_at;

-- channels, 3: $1 bigint, $2 text, $3 text, $4 text
DELETE FROM channels c WHERE c.app_number = $1 AND c.environment = $2::apns_environment AND c.kind = $3 AND c.value = $4 RETURNING 1;

-- channels, 4: $1 text[], $2 text[], $3 bigint, $4 text
SELECT q.position, c.channel_id, c.message_storage_policy
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT ch.channel_id, ch.message_storage_policy FROM channels ch
    WHERE ch.app_number = $3 AND ch.environment = $4::apns_environment
        AND ch.kind = q.kind AND ch.value = q.value LIMIT 1
) AS c;
