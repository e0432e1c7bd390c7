-- lists of channels, 1: $1 bigint, $2 text, $3 text, $4 bigint
SELECT c.kind, c.value, c.channel_id, c.message_storage_policy, c.updated_at FROM channels c
WHERE c.scope_id = $1 AND (c.kind, c.value) > ($2, $3)
ORDER BY c.kind, c.value LIMIT $4;

-- lists of channels, 2: $1 bigint
SELECT count(*), count(DISTINCT c.channel_id) FROM channels c WHERE c.scope_id = $1;
