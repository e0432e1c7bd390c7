-- burst guard, 1 of 1: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 bytea[], $10 text[], $11 timestamp with time zone[], $12 text[], $13 text[], $14 text[], $15 bigint, $16 text, $17 bigint, $18 text, $19 bigint, $20 text, $21 bigint, $22 bigint, $23 text
UPDATE quarantine_guards g SET reported_at = now(),
    tripped_at = CASE WHEN (g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes') THEN g.tripped_at
        WHEN reports.fresh + (SELECT count(*) FROM token_values v WHERE v.app_number = $1 AND v.environment = $2::apns_environment AND v.quarantined_kind = g.kind
    AND v.quarantined_at > now() - interval '10 minutes') > 3 AND reports.fresh + (SELECT count(*) FROM token_values v WHERE v.app_number = $3 AND v.environment = $4::apns_environment AND v.quarantined_kind = g.kind
    AND v.quarantined_at > now() - interval '10 minutes') > (CASE g.kind WHEN 'update' THEN (SELECT count(*) FROM (
        SELECT FROM activities a WHERE a.app_number = $5 AND a.environment = $6::apns_environment AND a.ended_at IS NULL
            AND a.expiry_recorded_at IS NULL AND a.expires_at > now() AND a.token IS NOT NULL LIMIT 5000
    ) AS current)
    ELSE (SELECT count(*) FROM (
        SELECT FROM installation_tokens r
        WHERE r.app_number = $7 AND r.environment = $8::apns_environment AND r.kind = g.kind AND r.token_number > 0 AND r.token IS NOT NULL LIMIT 5000
    ) AS current) END / 5) THEN now() END
FROM (
    SELECT held.kind, count(*) FILTER (WHERE held.claimed_at > greatest(t.quarantined_at, t.dead_at, '-infinity')
        AND held.claimed_at <= least(coalesce(q.reported_at, now()), now())) AS fresh
    FROM unnest($9, $10, $11, $12, $13::text[]::tid[], $14::text[]::tid[]) WITH ORDINALITY AS q (token_digest, verdict, reported_at, reason, value_place, activity_place, position)
LEFT JOIN LATERAL (
    SELECT * FROM token_values v
    WHERE v.ctid = q.value_place AND v.app_number = $15 AND v.environment = $16::apns_environment AND v.token_digest = q.token_digest LIMIT 1
) AS t ON true
CROSS JOIN LATERAL (
    SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
        SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
        WHERE a.ctid = q.activity_place AND a.app_number = $17 AND a.environment = $18::apns_environment AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        UNION ALL
        (SELECT other.kind, other.claimed_at FROM token_holders other
        WHERE t.token_digest IS NOT NULL AND (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL) AND other.kind <> 'update'
            AND other.app_number = $19 AND other.environment = $20::apns_environment AND other.token_digest = q.token_digest
        LIMIT $21)
    ) AS h
) AS held
    WHERE q.verdict = 'suspect'
    GROUP BY held.kind
) AS reports
WHERE g.app_number = $22 AND g.environment = $23::apns_environment AND g.kind = reports.kind AND reports.fresh > 0
RETURNING g.kind, g.tripped_at = now();
