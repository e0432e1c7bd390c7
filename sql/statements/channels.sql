-- channels, 1: $1 text[], $2 text[], $3 bigint
SELECT q.position, c.channel_id, c.message_storage_policy
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT ch.channel_id, ch.message_storage_policy FROM channels ch
    WHERE ch.scope_id = $3
        AND ch.kind = q.kind AND ch.value = q.value LIMIT 1
) AS c;
