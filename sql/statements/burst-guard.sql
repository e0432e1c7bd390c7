-- burst guard, 1: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea[], $6 text[], $7 timestamp with time zone[], $8 text[], $9 text[], $10 text[], $11 bigint, $12 text, $13 bigint, $14 text, $15 bigint, $16 bigint, $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 bigint, $22 bigint, $23 text, $24 bigint, $25 bigint, $26 text, $27 bigint, $28 text
UPDATE quarantine_guards g SET reported_at = judged.at, tripped_at = CASE
    WHEN g.tripped_at IS NOT NULL AND g.reported_at > judged.since THEN g.tripped_at
    WHEN judged.is_burst THEN judged.at END
FROM (
    -- Judged before the assignment, which a distributed Postgres lets ask neither clock nor table.
    SELECT reports.kind, now() AS at, now() - interval '10 minutes' AS since,
        reports.fresh + recent.count > 3 AND reports.fresh + recent.count > (CASE WHEN reports.kind = 'update' THEN (SELECT count(*) FROM (
        SELECT FROM activities a WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.ended_at IS NULL
            AND a.expiry_recorded_at IS NULL AND a.expires_at > now() AND a.token IS NOT NULL LIMIT 5000
    ) AS current)
    ELSE (SELECT count(*) FROM (
        SELECT FROM installation_tokens r
        WHERE r.app_number = $3 AND r.environment = $4::apns_environment AND r.kind = reports.kind AND r.token_number > 0 AND r.token IS NOT NULL LIMIT 5000
    ) AS current) END / 5) AS is_burst
    FROM (
        SELECT held.kind, count(*) FILTER (WHERE held.claimed_at > greatest(t.quarantined_at, t.dead_at, '-infinity')
            AND held.claimed_at <= least(coalesce(q.reported_at, now()), now())) AS fresh
        FROM unnest($5, $6, $7, $8, $9::text[]::tid[], $10::text[]::tid[]) WITH ORDINALITY AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
LEFT JOIN LATERAL (SELECT * FROM token_values v WHERE v.ctid = q.value_place AND v.app_number = $11 AND v.environment = $12::apns_environment
    AND v.token_digest = q.token_digest LIMIT 1) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.ctid = q.activity_place AND a.app_number = $13 AND a.environment = $14::apns_environment AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM (SELECT t.app_number, t.environment, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id,
    h.installation_hash, h.subject, h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases
    FROM activities a
    WHERE a.app_number = $15 AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
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
    WHERE its.app_number = $16 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $17 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $18 AND r.environment = t.environment AND r.installation_hash = t.installation_hash
        AND r.kind = t.installation_kind AND r.token_digest = t.token_digest
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
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
    WHERE its.app_number = $19 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $20 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) r
    WHERE r.app_number = $21 AND r.environment = t.environment AND NOT r.has_one_owner
        AND r.token_digest = t.token_digest AND t.installation_hash IS NULL
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h) other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.app_number = $22 AND other.environment = $23::apns_environment AND other.token_digest = q.token_digest
        LIMIT $24)
    ) AS h
) AS held
        WHERE q.verdict = 'suspect'
        GROUP BY held.kind
    ) AS reports CROSS JOIN LATERAL (SELECT count(*) AS count FROM token_values v WHERE v.app_number = $25 AND v.environment = $26::apns_environment
    AND v.quarantined_kind = reports.kind AND v.quarantined_at > now() - interval '10 minutes') AS recent
    WHERE reports.fresh > 0 OFFSET 0
) AS judged
WHERE g.app_number = $27 AND g.environment = $28::apns_environment AND g.kind = judged.kind
RETURNING g.kind, g.tripped_at = g.reported_at;
