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

-- export of device tokens, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 text, $6 bigint, $7 bigint
SELECT r.installation_hash, r.attributes_type, r.token, r.observed_at FROM (SELECT * FROM (SELECT
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
    WHERE its.scope_id = $1 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $2 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) its
WHERE its.scope_id = $3 AND its.scope_id = $4 AND its.token_number > 0
AND its.kind = $5
    AND its.token_number > $6 AND its.token_number <= $7 OFFSET 0) AS r WHERE r.verdict IS NULL ORDER BY r.token_number;
