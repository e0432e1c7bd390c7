-- burst guard, 1 of 1: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea[], $6 text[], $7 timestamp with time zone[], $8 text[], $9 text[], $10 text[], $11 bigint, $12 text, $13 bigint, $14 text, $15 bigint, $16 text, $17 bigint, $18 bigint, $19 text, $20 bigint, $21 text
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
LEFT JOIN LATERAL (
    SELECT * FROM token_values v
    WHERE v.ctid = q.value_place AND v.app_number = $11 AND v.environment = $12::apns_environment AND v.token_digest = q.token_digest LIMIT 1
) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.ctid = q.activity_place AND a.app_number = $13 AND a.environment = $14::apns_environment AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM token_holders other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.app_number = $15 AND other.environment = $16::apns_environment AND other.token_digest = q.token_digest
        LIMIT $17)
    ) AS h
) AS held
        WHERE q.verdict = 'suspect'
        GROUP BY held.kind
    ) AS reports CROSS JOIN LATERAL (SELECT count(*) AS count FROM token_values v WHERE v.app_number = $18 AND v.environment = $19::apns_environment
    AND v.quarantined_kind = reports.kind AND v.quarantined_at > now() - interval '10 minutes') AS recent
    WHERE reports.fresh > 0 OFFSET 0
) AS judged
WHERE g.app_number = $20 AND g.environment = $21::apns_environment AND g.kind = judged.kind
RETURNING g.kind, g.tripped_at = g.reported_at;
