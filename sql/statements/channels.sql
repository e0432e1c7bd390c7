-- channels, 1: $1 bigint, $2 bigint
INSERT INTO channel_quotas AS stored (scope_id)
SELECT $1 FROM apps app WHERE app.app_id = $2
ON CONFLICT (scope_id) DO UPDATE SET touched_at = excluded.touched_at
RETURNING stored.touched_at;

-- channels, 2: $1 bigint, $2 text, $3 text, $4 text, $5 bigint
INSERT INTO channels (scope_id, kind, value, channel_id, message_storage_policy)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope_id, kind, value) DO UPDATE SET channel_id = excluded.channel_id,
    message_storage_policy = excluded.message_storage_policy, updated_at = excluded.updated_at;

-- channels, 3: $1 bigint, $2 text, $3 text
DELETE FROM channels c WHERE c.scope_id = $1 AND c.kind = $2 AND c.value = $3 RETURNING 1;

-- channels, 4: $1 text[], $2 text[], $3 bigint
SELECT q.position, c.channel_id, c.message_storage_policy
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT ch.channel_id, ch.message_storage_policy FROM channels ch
    WHERE ch.scope_id = $3
        AND ch.kind = q.kind AND ch.value = q.value LIMIT 1
) AS c;
