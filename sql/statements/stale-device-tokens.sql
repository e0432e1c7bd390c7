-- stale device tokens, 1 of 3: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.token_number AS number FROM installation_tokens r
    WHERE r.app_number = $1 AND r.token_number > 0
AND r.environment = $2::apns_environment AND r.kind = $3 AND r.token_number > $4
    ORDER BY r.token_number LIMIT $5
) AS s;

-- stale device tokens, 2 of 3: $1 interval, $2 interval, $3 text, $4 bigint, $5 text, $6 interval, $7 bigint, $8 text, $9 text, $10 interval, $11 interval, $12 interval, $13 bigint, $14 bigint, $15 bigint, $16 bigint, $17 text
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END, CASE WHEN coalesce(r.flapped_at
    > greatest(r.removed_at, now() - $2), false) THEN 'flapping' END], NULL) AS reasons FROM (SELECT s.app_number, s.environment, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.verdict, s.removed_at, s.flapped_at
FROM installation_token_verdicts s
WHERE s.token IS NOT NULL AND s.kind = $3) AS r
    WHERE r.app_number = $4 AND r.environment = $5::apns_environment AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.app_number = $7 AND q.environment = $8::apns_environment AND q.quarantined_kind = $9 AND q.quarantined_at IS NOT NULL) OR coalesce(r.flapped_at
    > greatest(r.removed_at, now() - $10), false)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $11 OR r.verdict = 'quarantined' OR coalesce(r.flapped_at
    > greatest(r.removed_at, now() - $12), false))
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $13 AND r.number <= $14 ORDER BY r.number LIMIT $15
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $16 AND its.environment = $17::apns_environment
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale device tokens, 3 of 3: $1 interval, $2 interval, $3 text, $4 bigint, $5 text, $6 interval, $7 bigint, $8 text, $9 text, $10 interval, $11 interval, $12 interval, $13 bigint, $14 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END, CASE WHEN coalesce(r.flapped_at
    > greatest(r.removed_at, now() - $2), false) THEN 'flapping' END], NULL) AS reasons, count(*) FROM (SELECT s.app_number, s.environment, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.verdict, s.removed_at, s.flapped_at
FROM installation_token_verdicts s
WHERE s.token IS NOT NULL AND s.kind = $3) AS r
WHERE r.app_number = $4 AND r.environment = $5::apns_environment AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.app_number = $7 AND q.environment = $8::apns_environment AND q.quarantined_kind = $9 AND q.quarantined_at IS NOT NULL) OR coalesce(r.flapped_at
    > greatest(r.removed_at, now() - $10), false)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $11 OR r.verdict = 'quarantined' OR coalesce(r.flapped_at
    > greatest(r.removed_at, now() - $12), false))
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $13 AND r.number <= $14
GROUP BY 1;
