-- resolve, 1: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint
SELECT al.activity_key, c.activity_id, c.token, c.installation_hash, c.attributes_type, c.frequent_pushes_enabled,
c.started_at, c.starts_at, c.token_observed_at, c.confirmed_at, c.expires_at, c.revision FROM (
    SELECT al.activity_key FROM activity_aliases al
    WHERE al.scope_id = $1
    AND al.kind = $2 AND al.value = $3 AND NOT al.ended AND al.activity_key > $4
    ORDER BY al.activity_key LIMIT $5
) AS al
LEFT JOIN LATERAL (SELECT cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM deliverable_activities cur
WHERE cur.scope_id = $6 AND cur.activity_key = al.activity_key
    AND cur.activity_key > 0 LIMIT 1) AS c ON true
ORDER BY al.activity_key;

-- resolve, 2: $1 bigint, $2 bigint, $3 text, $4 text, $5 bigint, $6 bigint
SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL (SELECT cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM deliverable_activities cur
WHERE cur.scope_id = $1 AND cur.activity_key = al.activity_key
    AND cur.activity_key > 0 LIMIT 1) AS c
WHERE al.scope_id = $2
    AND al.kind = $3 AND al.value = $4 AND NOT al.ended AND al.activity_key > $5 AND al.activity_key <= $6
ORDER BY al.activity_key;

-- resolve, 3: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint
SELECT al.activity_key FROM activity_aliases al
WHERE al.scope_id = $1
    AND al.kind = $2 AND al.value = $3 AND NOT al.ended AND al.activity_key > $4
ORDER BY al.activity_key LIMIT 1 OFFSET $5;

-- resolve, 4: $1 text[], $2 text[], $3 bigint, $4 bigint, $5 bigint, $6 bigint
SELECT q.position, c.*
FROM unnest($1, $2) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT al.activity_key, c.activity_id, c.token, c.installation_hash, c.attributes_type, c.frequent_pushes_enabled,
c.started_at, c.starts_at, c.token_observed_at, c.confirmed_at, c.expires_at, c.revision FROM (
        SELECT al.activity_key FROM activity_aliases al
        WHERE al.scope_id = $3
            AND al.kind = q.kind AND al.value = q.value AND NOT al.ended
        ORDER BY al.activity_key LIMIT $4
    ) AS al
    LEFT JOIN LATERAL (SELECT cur.activity_key, cur.activity_id, cur.token, cur.installation_hash, cur.attributes_type, cur.frequent_pushes_enabled,
cur.started_at, cur.starts_at, cur.token_observed_at, cur.confirmed_at, cur.expires_at, cur.revision FROM deliverable_activities cur
WHERE cur.scope_id = $5 AND cur.activity_key = al.activity_key
    AND cur.activity_key > 0 LIMIT 1) AS c ON true
    OFFSET 0
) AS c
LIMIT $6;

-- resolve, 5: $1 bigint, $2 text
SELECT a.activity_id, a.end_reason::text, CASE a.reason WHEN 'logged-out' THEN a.removed_at ELSE a.ended_at END, coalesce(a.token_observed_at, a.last_observed_at),
a.confirmed_at, a.expires_at, a.revision, a.state, nullif(a.reason, 'no-token'), CASE WHEN a.reason IS NULL THEN a.token END, a.installation_hash, a.attributes_type, a.frequent_pushes_enabled, a.started_at, a.starts_at
FROM (
    SELECT * FROM explained_activities its
    WHERE its.scope_id = $1 AND its.activity_id = $2 LIMIT 1
) AS a;

-- resolve, 6: $1 bigint, $2 text, $3 bigint, $4 text, $5 text, $6 bytea, $7 bytea, $8 text, $9 bigint
SELECT c.* FROM installation_aliases al CROSS JOIN LATERAL (
    SELECT cur.token, cur.installation_hash, cur.attributes_type, cur.observed_at, cur.confirmed_at
    FROM deliverable_installation_tokens cur
    WHERE cur.scope_id = $1
        AND cur.installation_hash = al.installation_hash AND cur.kind = $2 AND true
    OFFSET 0
) AS c
WHERE al.scope_id = $3
    AND al.kind = $4 AND al.value = $5
    AND al.installation_hash >= $6
    AND (al.installation_hash, c.attributes_type) > ($7, $8)
ORDER BY al.installation_hash, c.attributes_type LIMIT $9;

-- resolve, 7: the same as resolve, 6
