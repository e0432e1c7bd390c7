-- Broadcast channels of aliases, within Apple's quota.

-- name: channels.lock
-- Serializes changes of a scope's channels, so that two requests cannot both use the last channel of the quota. Always
-- writes (R1); no row if the app was deleted. By the primary key.
INSERT INTO channel_quotas AS stored (scope_id)
SELECT sc.scope_id FROM scopes sc JOIN apps app ON app.app_id = sc.app_id WHERE sc.scope_id = :scope
ON CONFLICT (scope_id) DO UPDATE SET touched_at = excluded.touched_at
RETURNING stored.touched_at;

-- name: channels.count-others
-- Whether another alias has the channel, and the number of other aliases' distinct channels. Requires the lock.
-- Index: channels_of_id. Reads many rows: the scope's channels, at most the quota.
SELECT
    EXISTS (
        SELECT FROM channels c
        WHERE c.scope_id = :scope AND c.channel_id = :channel AND (c.kind, c.value) <> (:kind, :value)
    ) AS is_shared,
    (
        SELECT count(DISTINCT c.channel_id) FROM channels c
        WHERE c.scope_id = :scope AND (c.kind, c.value) <> (:kind, :value)
    ) AS others;

-- name: channels.put
-- Sets an alias's channel. By the primary key.
INSERT INTO channels (scope_id, kind, value, channel_id, message_storage_policy)
VALUES (:scope, :kind, :value, :channel, :policy)
ON CONFLICT (scope_id, kind, value) DO UPDATE SET
    channel_id = excluded.channel_id,
    message_storage_policy = excluded.message_storage_policy,
    updated_at = excluded.updated_at;

-- name: channels.delete
-- Deletes an alias's channel; a row if one existed. By the primary key.
DELETE FROM channels c
WHERE c.scope_id = :scope AND c.kind = :kind AND c.value = :value
RETURNING c.channel_id;

-- name: channels.record-event
INSERT INTO events (scope_id, drop_on, type, who, aliases)
VALUES (:scope, (now() + :retention::interval)::date + 1, :type, :who,
    jsonb_build_object(:kind::text, jsonb_build_array(:value::text)));
