-- export of update tokens, 1: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint
SELECT q.last, q.count, (SELECT min(r.activity_key) FROM activities r WHERE r.scope_id = $1 AND r.activity_key > 0
),
    (SELECT max(r.activity_key) FROM activities r WHERE r.scope_id = $2 AND r.activity_key > 0
)
FROM (SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.activity_key AS number FROM activities r
    WHERE r.scope_id = $3 AND r.activity_key > 0
 AND r.activity_key > $4
    ORDER BY r.activity_key LIMIT $5
) AS s) AS q;

-- export of update tokens, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint, $6 bigint
SELECT r.activity_id, r.end_reason::text, CASE r.verdict WHEN 'logged-out' THEN r.removed_at ELSE r.ended_at END, coalesce(r.token_observed_at, r.last_observed_at),
r.confirmed_at, r.expires_at, r.revision, r.state, CASE WHEN r.verdict IS NULL THEN r.token END, r.token_observed_at, r.started_at, n.alias, coalesce(n.ended_at >= r.ended_at, false), r.installation_hash, r.subject, r.starts_at, r.attributes_type, r.frequent_pushes_enabled, r.aliases, r.aliases_observed_at, r.metadata, r.metadata_observed_at FROM (SELECT * FROM (SELECT
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
    WHERE its.scope_id = $1 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) its
WHERE its.scope_id = $2 AND its.scope_id = $3 AND its.activity_key > 0

    AND its.activity_key > $4 AND its.activity_key <= $5 OFFSET 0) AS r LEFT JOIN LATERAL (
    SELECT i.alias, i.ended_at FROM jsonb_array_elements_text(r.aliases -> 'liveactivityId') AS name
    JOIN alias_identities i ON i.scope_id = $6
        AND i.alias = name AND i.owner = CASE
            WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
            WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject ELSE 'app' END
    WHERE i.activity_id = r.activity_id LIMIT 1
) AS n ON true ORDER BY r.activity_key;
