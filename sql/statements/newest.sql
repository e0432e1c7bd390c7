-- newest, 1: $1 bigint, $2 bigint, $3 bigint, $4 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND s.ended_at IS NULL AND s.expiry_recorded_at IS NULL AND s.expires_at > now()
ORDER BY s.expires_at DESC LIMIT $2) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $3 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $4
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- newest, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) ORDER BY s.expires_at DESC LIMIT $2) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $3 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $4
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;
