-- overview, 1: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text
SELECT EXISTS (SELECT FROM (SELECT FROM activities a WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.ended_at IS NULL
        AND a.expiry_recorded_at IS NULL ORDER BY a.expires_at LIMIT 1) AS running)
    OR EXISTS (SELECT FROM (SELECT FROM activities a WHERE a.app_number = $3 AND a.environment = $4::apns_environment
        AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL) ORDER BY a.expires_at LIMIT 1) AS over)
    OR EXISTS (SELECT FROM (SELECT FROM installations i WHERE i.app_number = $5 AND i.environment = $6::apns_environment
        AND i.touched_at > '-infinity' ORDER BY i.touched_at LIMIT 1) AS heard);

-- overview, 2: $1 bigint, $2 text, $3 timestamp with time zone, $4 bytea, $5 bigint
SELECT i.installation_hash, i.subject, i.touched_at, i.full_state_at, i.removed_at FROM installations i
WHERE i.app_number = $1 AND i.environment = $2::apns_environment AND i.touched_at > '-infinity'
    AND (i.touched_at, i.installation_hash) < ($3, $4)
ORDER BY i.touched_at DESC, i.installation_hash DESC LIMIT $5;
