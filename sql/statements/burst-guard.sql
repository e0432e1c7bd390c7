-- burst guard, 1: $1 bigint, $2 bigint, $3 bytea[], $4 text[], $5 timestamp with time zone[], $6 text[], $7 text[], $8 text[], $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 bigint, $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 bigint
UPDATE quarantine_guards g SET reported_at = judged.at, tripped_at = CASE
    WHEN g.tripped_at IS NOT NULL AND g.reported_at > judged.since THEN g.tripped_at
    WHEN judged.is_burst THEN judged.at END
FROM (
    -- Judged before the assignment, which a distributed Postgres lets ask neither clock nor table.
    SELECT reports.kind, now() AS at, now() - interval '10 minutes' AS since,
        reports.fresh + recent.count > 3 AND reports.fresh + recent.count > (CASE WHEN reports.kind = 'update' THEN (SELECT count(*) FROM (
        SELECT FROM activities a WHERE a.scope_id = $1 AND a.ended_at IS NULL
            AND a.expiry_recorded_at IS NULL AND a.expires_at > now() AND a.token IS NOT NULL LIMIT 5000
    ) AS current)
    ELSE (SELECT count(*) FROM (
        SELECT FROM installation_tokens r
        WHERE r.scope_id = $2 AND r.kind = reports.kind AND r.token_number > 0 AND r.token IS NOT NULL LIMIT 5000
    ) AS current) END / 5) AS is_burst
    FROM (
        SELECT held.kind, count(*) FILTER (WHERE held.claimed_at > greatest(t.quarantined_at, t.dead_at, '-infinity')
            AND held.claimed_at <= least(coalesce(q.reported_at, now()), now())) AS fresh
        FROM unnest($3, $4, $5, $6, $7::text[]::tid[], $8::text[]::tid[]) WITH ORDINALITY AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
LEFT JOIN LATERAL (SELECT * FROM token_values v WHERE v.ctid = q.value_place AND v.scope_id = $9
    AND v.token_digest = q.token_digest LIMIT 1) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.ctid = q.activity_place AND a.scope_id = $10 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM (SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = $11 AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND a.ended_at IS NULL AND a.expires_at > now() AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
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
    WHERE its.scope_id = $12 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $13 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $14 AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
        AND r.token_digest = t.token_digest AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
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
    WHERE its.scope_id = $15 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $16 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r
    WHERE r.scope_id = $17 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.scope_id = $18 AND other.token_digest = q.token_digest
        LIMIT $19)
    ) AS h
) AS held
        WHERE q.verdict = 'suspect'
        GROUP BY held.kind
    ) AS reports CROSS JOIN LATERAL (SELECT count(*) AS count FROM token_values v WHERE v.scope_id = $20
    AND v.quarantined_kind = reports.kind AND v.quarantined_at > now() - interval '10 minutes') AS recent
    WHERE reports.fresh > 0 OFFSET 0
) AS judged
WHERE g.scope_id = $21 AND g.kind = judged.kind
RETURNING g.kind, g.tripped_at = g.reported_at;
