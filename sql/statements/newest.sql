-- newest, 1: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND s.ended_at IS NULL AND s.expiry_recorded_at IS NULL AND s.expires_at > now()
ORDER BY s.expires_at DESC LIMIT $2) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $3 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) bearer
    WHERE bearer.scope_id = $4 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $5
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- newest, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) ORDER BY s.expires_at DESC LIMIT $2) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $3 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) bearer
    WHERE bearer.scope_id = $4 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $5
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;
