-- overview, 1: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text
SELECT EXISTS (SELECT FROM (SELECT FROM activities a WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.ended_at IS NULL
        AND a.expiry_recorded_at IS NULL ORDER BY a.expires_at LIMIT 1) AS running)
    OR EXISTS (SELECT FROM (SELECT FROM activities a WHERE a.app_number = $3 AND a.environment = $4::apns_environment
        AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL) ORDER BY a.expires_at LIMIT 1) AS over)
    OR EXISTS (SELECT FROM (SELECT FROM installations i WHERE i.app_number = $5 AND i.environment = $6::apns_environment
        AND i.touched_at > '-infinity' ORDER BY i.touched_at LIMIT 1) AS heard);

-- overview, 2: $1 bigint, $2 text, $3 bigint, $4 interval, $5 bigint
SELECT i.installation_hash FROM (
    SELECT * FROM installations flapped WHERE flapped.app_number = $1 AND flapped.environment = $2::apns_environment AND flapped.flapped_at IS NOT NULL
    ORDER BY flapped.flapped_at DESC LIMIT $3
) AS i
WHERE coalesce(i.flapped_at
    > greatest(i.removed_at, now() - $4), false)
ORDER BY i.flapped_at DESC LIMIT $5;

-- overview, 3: $1 interval, $2 bigint, $3 text, $4 timestamp with time zone, $5 bytea, $6 bigint
SELECT i.installation_hash, i.subject, i.touched_at, i.full_state_at, i.removed_at, i.flaps
FROM (
    SELECT heard.*, coalesce(heard.flapped_at
    > greatest(heard.removed_at, now() - $1), false) AS flaps FROM installations heard WHERE heard.app_number = $2 AND heard.environment = $3::apns_environment AND heard.touched_at > '-infinity'
        AND (heard.touched_at, heard.installation_hash) < ($4, $5)
    ORDER BY heard.touched_at DESC, heard.installation_hash DESC LIMIT $6
) AS i
ORDER BY i.touched_at DESC, i.installation_hash DESC;
