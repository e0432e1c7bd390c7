-- resolve, 1 of 7: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint
SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL (SELECT cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled, cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM current_activities cur
WHERE cur.app_number = al.app_number AND cur.activity_number = al.activity_number
    AND cur.activity_number > 0 LIMIT 1) AS c
WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_number > $5
ORDER BY al.activity_number LIMIT $6;

-- resolve, 2 of 7: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint
SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL (SELECT cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled, cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM current_activities cur
WHERE cur.app_number = al.app_number AND cur.activity_number = al.activity_number
    AND cur.activity_number > 0 LIMIT 1) AS c
WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_number > $5 AND al.activity_number <= $6
ORDER BY al.activity_number;

-- resolve, 3 of 7: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint
SELECT al.activity_number FROM activity_aliases al
WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_number > $5
ORDER BY al.activity_number LIMIT 1 OFFSET $6;

-- resolve, 4 of 7: $1 text[], $2 text[], $3 bigint, $4 text, $5 bigint, $6 bigint
SELECT q.position, c.*
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL (SELECT cur.activity_number, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled, cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM current_activities cur
WHERE cur.app_number = al.app_number AND cur.activity_number = al.activity_number
    AND cur.activity_number > 0 LIMIT 1) AS c
    WHERE al.app_number = $3 AND al.environment = $4::apns_environment
        AND al.kind = q.kind AND al.value = q.value AND NOT al.ended
    ORDER BY al.activity_number LIMIT $5
) AS c
LIMIT $6;

-- resolve, 5 of 7: $1 bigint, $2 text, $3 text
SELECT a.activity_id, a.end_reason::text, CASE a.verdict WHEN 'logged-out' THEN a.removed_at ELSE a.ended_at END, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, a.revision, a.state, nullif(a.verdict, 'no-token'), CASE WHEN a.verdict IS NULL THEN a.token END, a.installation_hash, a.attributes_type, a.frequent_pushes_enabled, a.started_at, a.starts_at
FROM (
    SELECT * FROM activity_verdicts its
    WHERE its.app_number = $1 AND its.environment = $2::apns_environment AND its.activity_id = $3 LIMIT 1
) AS a;

-- resolve, 6 of 7: $1 bigint, $2 text, $3 text, $4 bigint, $5 text, $6 text, $7 text, $8 bytea, $9 bytea, $10 text, $11 bigint
SELECT c.* FROM installation_aliases al CROSS JOIN LATERAL (
    SELECT cur.token, cur.installation_hash, cur.attributes_type, cur.observed_at, cur.confirmed_at
    FROM current_installation_tokens cur
    WHERE cur.app_number = $1 AND cur.environment = $2::apns_environment
        AND cur.installation_hash = al.installation_hash AND cur.kind = $3 AND true
    OFFSET 0
) AS c
WHERE al.app_number = $4 AND al.environment = $5::apns_environment
    AND al.kind = $6 AND al.value = $7
    AND al.installation_hash >= $8
    AND (al.installation_hash, c.attributes_type) > ($9, $10)
ORDER BY al.installation_hash, c.attributes_type LIMIT $11;

-- resolve, 7 of 7: the same as resolve, 6 of 7
