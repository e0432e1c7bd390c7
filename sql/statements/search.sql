-- search, 1: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 text
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.app_number, s.activity_number, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.app_number = $1 AND s.environment = $2::apns_environment AND s.activity_id = $3 LIMIT $4) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $5 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $6 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) bearer
    WHERE bearer.app_number = $7 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $8 AND its.environment = $9::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_number DESC;

-- search, 2: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 text
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.app_number, s.activity_number, s.ended FROM activity_aliases s WHERE s.app_number = $1 AND s.environment = $2::apns_environment AND s.value = $3 AND s.kind = $4 LIMIT $5) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $6 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $7 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) bearer
    WHERE bearer.app_number = $8 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $9 AND its.environment = $10::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_number DESC;

-- search, 3: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 text
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.app_number, s.activity_number, s.ended FROM activity_aliases s WHERE s.app_number = $1 AND s.environment = $2::apns_environment AND s.value = $3 LIMIT $4) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $5 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $6 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) bearer
    WHERE bearer.app_number = $7 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $8 AND its.environment = $9::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_number DESC;

-- search, 4: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea, $6 bytea, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 text
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.app_number, s.activity_number, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM token_values v
CROSS JOIN LATERAL (
    SELECT * FROM activities own WHERE own.app_number = $1 AND own.environment = $2::apns_environment
        AND own.activity_id = v.activity_id LIMIT 1
) AS s
WHERE v.app_number = $3 AND v.environment = $4::apns_environment AND v.token_digest >= $5 AND v.token_digest <= $6 LIMIT $7) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $8 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $9 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) bearer
    WHERE bearer.app_number = $10 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $11 AND its.environment = $12::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_number DESC;

-- search, 5: $1 bigint, $2 text, $3 bytea, $4 bytea, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 text
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM (SELECT s.app_number, s.activity_number, (s.ended_at IS NOT NULL OR s.expiry_recorded_at IS NOT NULL) AS ended FROM activities s
WHERE s.app_number = $1 AND s.environment = $2::apns_environment AND s.ended_at IS NULL AND s.installation_hash IS NOT NULL
    AND s.installation_hash >= $3 AND s.installation_hash <= $4 LIMIT $5) al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $6 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $7 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) bearer
    WHERE bearer.app_number = $8 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $9 AND its.environment = $10::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
ORDER BY al.ended, al.activity_number DESC;

-- search, 6: $1 bigint, $2 text, $3 bytea, $4 bytea, $5 bigint, $6 bigint, $7 text, $8 bytea, $9 bytea, $10 bigint, $11 bigint, $12 text, $13 bytea, $14 bytea, $15 bigint, $16 bigint
(SELECT i.installation_hash FROM installations i
WHERE i.app_number = $1 AND i.environment = $2::apns_environment AND i.installation_hash >= $3 AND i.installation_hash <= $4 LIMIT $5)
UNION
(SELECT r.installation_hash FROM installation_tokens r
WHERE r.app_number = $6 AND r.environment = $7::apns_environment AND NOT r.has_one_owner AND r.token_digest >= $8 AND r.token_digest <= $9
LIMIT $10)
UNION
(SELECT v.installation_hash FROM token_values v
WHERE v.app_number = $11 AND v.environment = $12::apns_environment AND v.installation_hash IS NOT NULL AND v.token_digest >= $13 AND v.token_digest <= $14
LIMIT $15)
LIMIT $16;

-- search, 7: $1 bigint, $2 text, $3 text, $4 text, $5 bigint
SELECT al.installation_hash FROM installation_aliases al
WHERE al.app_number = $1 AND al.environment = $2::apns_environment AND al.kind = $3 AND al.value = $4 LIMIT $5;
