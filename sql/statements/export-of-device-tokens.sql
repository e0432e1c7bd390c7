-- export of device tokens, 1: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 bigint
SELECT q.last, q.count, (SELECT min(r.token_number) FROM installation_tokens r WHERE r.scope_id = $1 AND r.token_number > 0
AND r.kind = $2),
    (SELECT max(r.token_number) FROM installation_tokens r WHERE r.scope_id = $3 AND r.token_number > 0
AND r.kind = $4)
FROM (SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.token_number AS number FROM installation_tokens r
    WHERE r.scope_id = $5 AND r.token_number > 0
AND r.kind = $6 AND r.token_number > $7
    ORDER BY r.token_number LIMIT $8
) AS s) AS q;

-- export of device tokens, 2: $1 bigint, $2 bigint, $3 text, $4 bigint, $5 bigint
SELECT r.installation_hash, r.attributes_type, r.token, r.observed_at FROM (SELECT * FROM deliverable_installation_tokens its
WHERE its.scope_id = $1 AND its.scope_id = $2 AND its.token_number > 0
AND its.kind = $3
    AND its.token_number > $4 AND its.token_number <= $5 OFFSET 0) AS r ORDER BY r.token_number;
