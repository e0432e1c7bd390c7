-- sweep of installations, 1 of 6: $1 bigint, $2 bigint, $3 text, $4 interval, $5 bigint
DELETE FROM installation_tokens r WHERE (r.app_number = $1) IS TRUE AND r.ctid = ANY(ARRAY(
    SELECT s.ctid FROM installation_tokens s
    WHERE s.app_number = $2 AND s.environment = $3::apns_environment AND s.token IS NULL AND s.touched_at <= now() - $4
    ORDER BY s.touched_at LIMIT $5 FOR UPDATE SKIP LOCKED
));

-- sweep of installations, 2 of 6: $1 bigint, $2 bigint, $3 text, $4 interval, $5 bigint
DELETE FROM installation_token_claims c WHERE (c.app_number = $1) IS TRUE AND c.ctid = ANY(ARRAY(
    SELECT o.ctid FROM installation_token_claims o
    WHERE o.app_number = $2 AND o.environment = $3::apns_environment AND o.last_observed_at > '-infinity'
        AND o.last_observed_at <= now() - $4
    ORDER BY o.last_observed_at LIMIT $5 FOR UPDATE SKIP LOCKED
))
RETURNING c.token_digest;

-- sweep of installations, 3 of 6: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea[], $6 interval, $7 bigint, $8 text, $9 bigint, $10 text, $11 bigint, $12 text
DELETE FROM token_values t WHERE t.app_number = $1 AND t.environment = $2::apns_environment AND t.token_digest = ANY(ARRAY(
    SELECT v.token_digest FROM token_values v
    WHERE v.app_number = $3 AND v.environment = $4::apns_environment AND v.token_digest = ANY($5)
        AND greatest(v.touched_at, v.dead_at) <= now() - $6
        AND NOT EXISTS (SELECT FROM installation_tokens r WHERE r.app_number = $7 AND r.environment = $8::apns_environment
            AND NOT r.has_one_owner AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
        AND NOT EXISTS (SELECT FROM installation_tokens r WHERE r.app_number = $9 AND r.environment = $10::apns_environment
            AND r.installation_hash = v.installation_hash AND r.kind = v.installation_kind
            AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
        AND NOT EXISTS (SELECT FROM activities a WHERE a.app_number = $11 AND a.environment = $12::apns_environment AND a.activity_id = v.activity_id)
    ORDER BY v.token_digest FOR UPDATE SKIP LOCKED
));

-- sweep of installations, 4 of 6: $1 bigint, $2 text, $3 interval, $4 interval, $5 bigint, $6 text, $7 bigint, $8 text, $9 bigint
SELECT i.installation_hash FROM installations i
WHERE i.app_number = $1 AND i.environment = $2::apns_environment AND i.touched_at > '-infinity'
    AND i.touched_at <= now() - greatest($3, $4)
    AND NOT EXISTS (SELECT FROM installation_tokens r WHERE r.app_number = $5 AND r.environment = $6::apns_environment
        AND r.installation_hash = i.installation_hash)
    AND NOT EXISTS (SELECT FROM activities a WHERE a.app_number = $7 AND a.environment = $8::apns_environment
        AND a.installation_hash = i.installation_hash)
ORDER BY i.touched_at LIMIT $9 FOR UPDATE SKIP LOCKED;

-- sweep of installations, 5 of 6: the same as erasure of a Live Activity, 13 of 18

-- sweep of installations, 6 of 6: the same as erasure of a Live Activity, 14 of 18
