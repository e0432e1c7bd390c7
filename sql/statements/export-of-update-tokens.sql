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

-- export of update tokens, 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint
SELECT r.activity_id, r.end_reason::text, CASE r.reason WHEN 'logged-out' THEN r.removed_at ELSE r.ended_at END, coalesce(r.token_observed_at, r.last_observed_at),
r.confirmed_at, r.expires_at, r.revision, r.state, CASE WHEN r.reason IS NULL THEN r.token END, r.token_observed_at, r.started_at, n.alias, coalesce(n.ended_at >= r.ended_at, false), r.installation_hash, r.subject, r.starts_at, r.attributes_type, r.frequent_pushes_enabled, r.aliases, r.aliases_observed_at, r.metadata, r.metadata_observed_at FROM (SELECT * FROM explained_activities its
WHERE its.scope_id = $1 AND its.scope_id = $2 AND its.activity_key > 0

    AND its.activity_key > $3 AND its.activity_key <= $4 OFFSET 0) AS r LEFT JOIN LATERAL (
    SELECT i.alias, i.ended_at FROM jsonb_array_elements_text(r.aliases -> 'liveactivityId') AS name
    JOIN alias_identities i ON i.scope_id = $5
        AND i.alias = name AND i.owner = CASE
            WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
            WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject ELSE 'app' END
    WHERE i.activity_id = r.activity_id LIMIT 1
) AS n ON true ORDER BY r.activity_key;
