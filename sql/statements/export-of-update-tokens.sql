-- export of update tokens, 1 of 2: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 bigint
SELECT q.last, q.count, (SELECT min(r.activity_number) FROM activities r WHERE r.app_number = $1 AND r.activity_number > 0
),
    (SELECT max(r.activity_number) FROM activities r WHERE r.app_number = $2 AND r.activity_number > 0
)
FROM (SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.activity_number AS number FROM activities r
    WHERE r.app_number = $3 AND r.activity_number > 0
 AND r.activity_number > $4
    ORDER BY r.activity_number LIMIT $5
) AS s) AS q;

-- export of update tokens, 2 of 2: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint, $6 bigint, $7 text
SELECT r.activity_id, r.end_reason::text, CASE r.verdict WHEN 'logged-out' THEN r.removed_at ELSE r.ended_at END, coalesce(r.token_observed_at, r.last_observed_at), r.confirmed_at, r.expires_at, r.revision, r.state, CASE WHEN r.verdict IS NULL THEN r.token END, r.token_observed_at, r.started_at, n.alias, coalesce(n.ended_at >= r.ended_at, false), r.installation_hash, r.installation_observed_at, r.subject, r.subject_observed_at, r.aliases, r.aliases_observed_at, r.metadata, r.metadata_observed_at, r.starts_at, r.starts_at_observed_at, r.attributes_type, r.attributes_type_observed_at, r.frequent_pushes_enabled, r.frequent_pushes_enabled_observed_at FROM (SELECT * FROM activity_verdicts its
WHERE its.app_number = $1 AND its.environment = $2::apns_environment AND its.app_number = $3 AND its.activity_number > 0

    AND its.activity_number > $4 AND its.activity_number <= $5 OFFSET 0) AS r LEFT JOIN LATERAL (
    SELECT i.alias, i.ended_at FROM jsonb_array_elements_text(r.aliases -> 'liveactivityId') AS name
    JOIN alias_identities i ON i.app_number = $6 AND i.environment = $7::apns_environment
        AND i.alias = name AND i.owner = CASE
            WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
            WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject ELSE 'app' END
    WHERE i.activity_id = r.activity_id LIMIT 1
) AS n ON true ORDER BY r.activity_number;
