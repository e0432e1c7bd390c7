-- life, 1: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at, a.subject, a.aliases, a.metadata, a.attributes_type, a.frequent_pushes_enabled, a.revision, a.created_at, a.last_observed_at, a.ended_at, t.dead_at, t.quarantine_reason, i.full_state_at, i.removed_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND s.activity_id = $2 LIMIT 1) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $3 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $4
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
LEFT JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $5
    AND its.installation_hash = a.installation_hash LIMIT 1) AS i ON true;

-- life, 2: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 bigint, $6 bigint, $7 text, $8 bigint, $9 bigint
SELECT substr(had.token_digest, 1, 4), had.observed_at, had.reason FROM (
    SELECT t.token_digest, t.observed_at, 'rotated' AS reason
    FROM activities a CROSS JOIN LATERAL (
        SELECT v.token_digest, v.observed_at FROM (
            SELECT own.token_digest, own.observed_at FROM token_values own
            WHERE own.scope_id = $1 AND own.activity_key = a.activity_key
            LIMIT $2
        ) AS v
        WHERE v.token_digest IS DISTINCT FROM a.token_digest
        ORDER BY v.observed_at DESC LIMIT $3
    ) AS t
    WHERE a.activity_id = $4 AND a.scope_id = $5
    UNION ALL
    SELECT a.token_digest, a.token_observed_at, CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN a.expiry_recorded_at IS NOT NULL THEN 'expired'
        WHEN t.activity_id <> a.activity_id OR t.installation_hash IS NOT NULL THEN 'taken-over'
        WHEN t.dead_at >= a.token_claimed_at AND t.purged_at = t.dead_at THEN 'purged'
        WHEN t.dead_at >= a.token_claimed_at THEN 'unregistered'
    END
    FROM activities a JOIN token_values t ON t.scope_id = $6 AND t.token_digest = a.token_digest
    WHERE a.activity_id = $7 AND a.scope_id = $8
) AS had
WHERE had.reason IS NOT NULL ORDER BY had.observed_at DESC LIMIT $9;
