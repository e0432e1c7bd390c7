-- stale device tokens, 1: $1 bigint, $2 text, $3 bigint, $4 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.token_number AS number FROM installation_tokens r
    WHERE r.scope_id = $1 AND r.token_number > 0
AND r.kind = $2 AND r.token_number > $3
    ORDER BY r.token_number LIMIT $4
) AS s;

-- stale device tokens, 2: $1 interval, $2 text, $3 bigint, $4 interval, $5 bigint, $6 text, $7 interval, $8 bigint, $9 bigint, $10 bigint, $11 bigint
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.withheld = 'quarantined' THEN 'quarantined' END], NULL) AS reasons FROM (SELECT s.scope_id, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.withheld
FROM installation_tokens s
WHERE s.token IS NOT NULL AND s.kind = $2) AS r
    WHERE r.scope_id = $3 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $5 AND q.quarantined_kind = $6 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.withheld = 'quarantined')
AND (r.withheld = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $8 AND r.number <= $9 ORDER BY r.number LIMIT $10
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $11
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale device tokens, 3: $1 interval, $2 text, $3 bigint, $4 interval, $5 bigint, $6 text, $7 interval, $8 bigint, $9 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.withheld = 'quarantined' THEN 'quarantined' END], NULL) AS reasons, count(*) FROM (SELECT s.scope_id, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.withheld
FROM installation_tokens s
WHERE s.token IS NOT NULL AND s.kind = $2) AS r
WHERE r.scope_id = $3 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $5 AND q.quarantined_kind = $6 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.withheld = 'quarantined')
AND (r.withheld = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $8 AND r.number <= $9
GROUP BY 1;
