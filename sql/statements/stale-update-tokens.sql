-- stale update tokens, 1 of 3: $1 bigint, $2 bigint, $3 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.activity_number AS number FROM activities r
    WHERE r.app_number = $1 AND r.activity_number > 0
 AND r.activity_number > $2
    ORDER BY r.activity_number LIMIT $3
) AS s;

-- stale update tokens, 2 of 3: $1 interval, $2 bigint, $3 text, $4 interval, $5 bigint, $6 text, $7 text, $8 interval, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.expires_at <= now() THEN 'expired' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons FROM (SELECT s.app_number, s.environment, s.activity_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.value_verdict AS verdict
FROM activity_verdicts s
WHERE s.token IS NOT NULL AND true) AS r
    WHERE r.app_number = $2 AND r.environment = $3::apns_environment AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.app_number = $5 AND q.environment = $6::apns_environment AND q.quarantined_kind = $7 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $8 OR r.expires_at <= now() OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $9 AND r.number <= $10 ORDER BY r.number LIMIT $11
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $12 AND its.environment = $13::apns_environment
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale update tokens, 3 of 3: $1 interval, $2 bigint, $3 text, $4 interval, $5 bigint, $6 text, $7 text, $8 interval, $9 bigint, $10 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.expires_at <= now() THEN 'expired' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons, count(*) FROM (SELECT s.app_number, s.environment, s.activity_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.value_verdict AS verdict
FROM activity_verdicts s
WHERE s.token IS NOT NULL AND true) AS r
WHERE r.app_number = $2 AND r.environment = $3::apns_environment AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.app_number = $5 AND q.environment = $6::apns_environment AND q.quarantined_kind = $7 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $8 OR r.expires_at <= now() OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $9 AND r.number <= $10
GROUP BY 1;
