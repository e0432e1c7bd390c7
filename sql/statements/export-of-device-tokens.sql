-- export of device tokens, 1 of 2: $1 bigint, $2 text, $3 text, $4 bigint, $5 text, $6 text, $7 bigint, $8 text, $9 text, $10 bigint, $11 bigint
SELECT q.last, q.count, (SELECT min(r.token_number) FROM installation_tokens r WHERE r.app_number = $1 AND r.token_number > 0
AND r.environment = $2::apns_environment AND r.kind = $3),
    (SELECT max(r.token_number) FROM installation_tokens r WHERE r.app_number = $4 AND r.token_number > 0
AND r.environment = $5::apns_environment AND r.kind = $6)
FROM (SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.token_number AS number FROM installation_tokens r
    WHERE r.app_number = $7 AND r.token_number > 0
AND r.environment = $8::apns_environment AND r.kind = $9 AND r.token_number > $10
    ORDER BY r.token_number LIMIT $11
) AS s) AS q;

-- export of device tokens, 2 of 2: $1 bigint, $2 text, $3 bigint, $4 text, $5 text, $6 bigint, $7 bigint
SELECT r.installation_hash, r.attributes_type, r.token, r.observed_at FROM (SELECT * FROM installation_token_verdicts its
WHERE its.app_number = $1 AND its.environment = $2::apns_environment AND its.app_number = $3 AND its.token_number > 0
AND its.environment = $4::apns_environment AND its.kind = $5
    AND its.token_number > $6 AND its.token_number <= $7 OFFSET 0) AS r WHERE r.verdict IS NULL ORDER BY r.token_number;
