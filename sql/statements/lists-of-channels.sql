-- lists of channels, 1: $1 bigint, $2 text, $3 text, $4 text, $5 bigint
SELECT c.kind, c.value, c.channel_id, c.message_storage_policy, c.updated_at FROM channels c
WHERE c.app_number = $1 AND c.environment = $2::apns_environment AND (c.kind, c.value) > ($3, $4)
ORDER BY c.kind, c.value LIMIT $5;

-- lists of channels, 2: $1 bigint, $2 text
SELECT count(*), count(DISTINCT c.channel_id) FROM channels c WHERE c.app_number = $1 AND c.environment = $2::apns_environment;
