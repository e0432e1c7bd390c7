-- overview, 1: $1 bigint, $2 bigint, $3 bigint
SELECT EXISTS (SELECT FROM (SELECT FROM activities a WHERE a.scope_id = $1 AND a.ended_at IS NULL
        AND a.expiry_recorded_at IS NULL ORDER BY a.expires_at LIMIT 1) AS running)
    OR EXISTS (SELECT FROM (SELECT FROM activities a WHERE a.scope_id = $2
        AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL) ORDER BY a.expires_at LIMIT 1) AS over)
    OR EXISTS (SELECT FROM (SELECT FROM installations i WHERE i.scope_id = $3
        AND i.touched_at > '-infinity' ORDER BY i.touched_at LIMIT 1) AS heard);

-- overview, 2: $1 bigint, $2 timestamp with time zone, $3 bytea, $4 bigint
SELECT i.installation_hash, i.subject, i.touched_at, i.full_state_at, i.removed_at FROM installations i
WHERE i.scope_id = $1 AND i.touched_at > '-infinity'
    AND (i.touched_at, i.installation_hash) < ($2, $3)
ORDER BY i.touched_at DESC, i.installation_hash DESC LIMIT $4;
