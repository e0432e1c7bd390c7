-- stale update tokens, 1: $1 bigint, $2 bigint, $3 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.activity_key AS number FROM activities r
    WHERE r.scope_id = $1 AND r.activity_key > 0
 AND r.activity_key > $2
    ORDER BY r.activity_key LIMIT $3
) AS s;

-- stale update tokens, 2: $1 interval, $2 bigint, $3 interval, $4 bigint, $5 text, $6 interval, $7 bigint, $8 bigint, $9 bigint, $10 bigint
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.expires_at <= now() THEN 'expired' END, CASE WHEN r.withheld = 'quarantined' THEN 'quarantined' END], NULL) AS reasons FROM (SELECT s.scope_id, s.activity_key AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.withheld
FROM activities s
WHERE s.token IS NOT NULL AND true) AS r
    WHERE r.scope_id = $2 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $3 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $4 AND q.quarantined_kind = $5 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.expires_at <= now() OR r.withheld = 'quarantined')
AND (r.withheld = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $7 AND r.number <= $8 ORDER BY r.number LIMIT $9
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $10
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale update tokens, 3: $1 interval, $2 bigint, $3 interval, $4 bigint, $5 text, $6 interval, $7 bigint, $8 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.expires_at <= now() THEN 'expired' END, CASE WHEN r.withheld = 'quarantined' THEN 'quarantined' END], NULL) AS reasons, count(*) FROM (SELECT s.scope_id, s.activity_key AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.withheld
FROM activities s
WHERE s.token IS NOT NULL AND true) AS r
WHERE r.scope_id = $2 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $3 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $4 AND q.quarantined_kind = $5 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.expires_at <= now() OR r.withheld = 'quarantined')
AND (r.withheld = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $7 AND r.number <= $8
GROUP BY 1;
