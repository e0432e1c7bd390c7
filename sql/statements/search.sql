-- search, 1: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND s.activity_id = $2 LIMIT $3) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $4 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $5
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- search, 2: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, s.ended FROM activity_aliases s WHERE s.scope_id = $1 AND s.value = $2 AND s.kind = $3 LIMIT $4) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $5 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $6
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- search, 3: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, s.ended FROM activity_aliases s WHERE s.scope_id = $1 AND s.value = $2 LIMIT $3) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $4 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $5
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- search, 4: $1 bigint, $2 bigint, $3 bytea, $4 bytea, $5 bigint, $6 bigint, $7 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM token_values v
CROSS JOIN LATERAL (
    SELECT * FROM activities own WHERE own.scope_id = $1
        AND own.activity_id = v.activity_id LIMIT 1
) AS s
WHERE v.scope_id = $2 AND v.token_digest >= $3 AND v.token_digest <= $4 LIMIT $5) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $6 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $7
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- search, 5: $1 bigint, $2 bytea, $3 bytea, $4 bigint, $5 bigint, $6 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.activity_key, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.scope_id = $1 AND s.ended_at IS NULL AND s.installation_hash IS NOT NULL
    AND s.installation_hash >= $2 AND s.installation_hash <= $3 LIMIT $4) al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $5 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $6
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_key DESC;

-- search, 6: $1 bigint, $2 bytea, $3 bytea, $4 bigint, $5 bigint, $6 bytea, $7 bytea, $8 bigint, $9 bigint, $10 bytea, $11 bytea, $12 bigint, $13 bigint
(SELECT i.installation_hash FROM installations i
WHERE i.scope_id = $1 AND i.installation_hash >= $2 AND i.installation_hash <= $3 LIMIT $4)
UNION
(SELECT r.installation_hash FROM installation_tokens r
WHERE r.scope_id = $5 AND NOT r.has_one_owner AND r.token_digest >= $6 AND r.token_digest <= $7
LIMIT $8)
UNION
(SELECT v.installation_hash FROM token_values v
WHERE v.scope_id = $9 AND v.installation_hash IS NOT NULL AND v.token_digest >= $10 AND v.token_digest <= $11
LIMIT $12)
LIMIT $13;

-- search, 7: $1 bigint, $2 text, $3 text, $4 bigint
SELECT al.installation_hash FROM installation_aliases al
WHERE al.scope_id = $1 AND al.kind = $2 AND al.value = $3 LIMIT $4;
