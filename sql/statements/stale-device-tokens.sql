-- stale device tokens, 1: $1 bigint, $2 text, $3 bigint, $4 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.token_number AS number FROM installation_tokens r
    WHERE r.scope_id = $1 AND r.token_number > 0
AND r.kind = $2 AND r.token_number > $3
    ORDER BY r.token_number LIMIT $4
) AS s;

-- stale device tokens, 2: $1 interval, $2 bigint, $3 bigint, $4 text, $5 bigint, $6 interval, $7 bigint, $8 text, $9 interval, $10 bigint, $11 bigint, $12 bigint, $13 bigint
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons FROM (SELECT s.scope_id, s.token_number AS number, s.installation_hash,
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
    WHERE its.scope_id = $2 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $3 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) s
WHERE s.token IS NOT NULL AND s.kind = $4) AS r
    WHERE r.scope_id = $5 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $7 AND q.quarantined_kind = $8 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $9 OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $10 AND r.number <= $11 ORDER BY r.number LIMIT $12
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $13
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale device tokens, 3: $1 interval, $2 bigint, $3 bigint, $4 text, $5 bigint, $6 interval, $7 bigint, $8 text, $9 interval, $10 bigint, $11 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons, count(*) FROM (SELECT s.scope_id, s.token_number AS number, s.installation_hash,
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
    WHERE its.scope_id = $2 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $3 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) s
WHERE s.token IS NOT NULL AND s.kind = $4) AS r
WHERE r.scope_id = $5 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $6 OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $7 AND q.quarantined_kind = $8 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $9 OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $10 AND r.number <= $11
GROUP BY 1;
