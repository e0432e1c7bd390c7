-- census on Citus, 1: $1 bigint, $2 bigint, $3 bigint, $4 bigint
SELECT r.environment::text, v.state,
    CASE WHEN v.state = 'active' AND r.token IS NOT NULL THEN CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END END, count(*)
FROM activities AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM (SELECT
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
    WHERE its.app_number = $1 AND its.environment = a.environment
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
            WHERE its.app_number = $2 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) its WHERE its.place = r.ctid AND its.app_number = $3::numeric LIMIT 1
) AS v
WHERE r.app_number = $4
GROUP BY 1, 2, 3;

-- census on Citus, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint
SELECT r.environment::text, r.kind, CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END, count(*)
FROM installation_tokens AS r TABLESAMPLE SYSTEM (5.0) REPEATABLE (7) CROSS JOIN LATERAL (
    SELECT * FROM (SELECT
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
    WHERE its.app_number = $1 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $2 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) its WHERE its.place = r.ctid AND its.app_number = $3::numeric LIMIT 1
) AS v
WHERE r.token IS NOT NULL AND r.app_number = $4
GROUP BY 1, 2, 3;

-- census on Citus, 3: $1 bigint, $2 bigint
SELECT now() - min(oldest.expires_at) FROM apps p
CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
CROSS JOIN LATERAL (
    SELECT a.expires_at FROM activities a
    WHERE a.app_number = $1 AND a.environment = e.environment AND a.ended_at IS NULL
        AND a.expiry_recorded_at IS NULL
    ORDER BY a.expires_at LIMIT 1
) AS oldest
WHERE p.app_number = $2 AND oldest.expires_at <= now();

-- census on Citus, 4: $1 bigint
SELECT count(*) FROM quarantine_guards g
WHERE (g.tripped_at IS NOT NULL AND g.reported_at > now() - interval '10 minutes') AND g.app_number = $1;
