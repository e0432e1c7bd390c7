-- stale device tokens, 1: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.token_number AS number FROM installation_tokens r
    WHERE r.app_number = $1 AND r.token_number > 0
AND r.environment = $2::apns_environment AND r.kind = $3 AND r.token_number > $4
    ORDER BY r.token_number LIMIT $5
) AS s;

-- stale device tokens, 2: $1 interval, $2 bigint, $3 bigint, $4 text, $5 bigint, $6 text, $7 interval, $8 bigint, $9 text, $10 text, $11 interval, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 text
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons FROM (SELECT s.app_number, s.environment, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.verdict
FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.app_number = $2 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $3 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) s
WHERE s.token IS NOT NULL AND s.kind = $4) AS r
    WHERE r.app_number = $5 AND r.environment = $6::apns_environment AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.app_number = $8 AND q.environment = $9::apns_environment AND q.quarantined_kind = $10 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $11 OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $12 AND r.number <= $13 ORDER BY r.number LIMIT $14
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $15 AND its.environment = $16::apns_environment
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale device tokens, 3: $1 interval, $2 bigint, $3 bigint, $4 text, $5 bigint, $6 text, $7 interval, $8 bigint, $9 text, $10 text, $11 interval, $12 bigint, $13 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons, count(*) FROM (SELECT s.app_number, s.environment, s.token_number AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, NULL::text AS activity_id, nullif(s.attributes_type, '') AS attributes_type, s.observed_at,
NULL::timestamptz AS expires_at, NULL::timestamptz AS starts_at, s.verdict
FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.app_number = $2 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $3 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) s
WHERE s.token IS NOT NULL AND s.kind = $4) AS r
WHERE r.app_number = $5 AND r.environment = $6::apns_environment AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.app_number = $8 AND q.environment = $9::apns_environment AND q.quarantined_kind = $10 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $11 OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $12 AND r.number <= $13
GROUP BY 1;
