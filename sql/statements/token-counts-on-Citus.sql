-- token counts on Citus, 1: $1 bigint, $2 bigint
SELECT EXISTS (SELECT FROM apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment) WHERE p.app_number = $1 AND NOT EXISTS (
    SELECT FROM token_counts c
    WHERE c.app_number = $2 AND c.environment = e.environment
        AND c.counted_at = date_bin('5 minutes', now(), '2020-01-01'::timestamptz)
));

-- token counts on Citus, 2: $1 double precision, $2 bigint, $3 bigint, $4 bigint, $5 bigint, $6 double precision, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint
INSERT INTO token_counts (
    app_number, environment, counted_at, counts
)
WITH given (
    app_number, environment, counted_at, counts
) AS MATERIALIZED (
SELECT p.app_number, e.environment, date_bin('5 minutes', now(), '2020-01-01'::timestamptz), coalesce(found.counts, '{}')
FROM apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
LEFT JOIN (
    SELECT k.app_number, k.environment, jsonb_object_agg(k.kind, k.count) AS counts FROM (
        SELECT r.app_number, r.environment, 'update' AS kind, round(count(*) * 100 / $1)::bigint AS count
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
    WHERE its.app_number = $2 AND its.environment = a.environment
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
            WHERE its.app_number = $3 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) its WHERE its.place = r.ctid AND its.app_number = $4::numeric LIMIT 1
) AS v
WHERE v.verdict IS NULL AND r.app_number = $5
GROUP BY 1, 2, 3
        UNION ALL SELECT r.app_number, r.environment, r.kind AS kind, round(count(*) * 100 / $6)::bigint AS count
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
    WHERE its.app_number = $7 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $8 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) its WHERE its.place = r.ctid AND its.app_number = $9::numeric LIMIT 1
) AS v
WHERE v.verdict IS NULL AND r.app_number = $10
GROUP BY 1, 2, 3
    ) AS k
    GROUP BY 1, 2
) AS found ON found.app_number = p.app_number AND found.environment = e.environment
WHERE p.app_number = $11
)
SELECT * FROM given
ON CONFLICT DO NOTHING;

-- token counts on Citus, 3: $1 bigint, $2 bigint
DELETE FROM token_counts c
WHERE c.app_number = $1 AND (
    c.counted_at < now() - interval '31 days' OR c.counted_at < now() - interval '25 hours' AND EXISTS (
        SELECT FROM token_counts later
        WHERE later.app_number = $2 AND later.environment = c.environment
            AND later.counted_at > c.counted_at
            AND later.counted_at < date_bin('1 hour', c.counted_at, '2020-01-01'::timestamptz) + interval '1 hour'
    )
);
