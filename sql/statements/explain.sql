-- explain, 1: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text, $6 boolean, $7 bigint, $8 bigint
SELECT al.activity_key, al.ended, a.activity_id, a.state, coalesce(a.reason, 'handed-out'), CASE a.reason WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM activity_aliases al
CROSS JOIN LATERAL (SELECT * FROM explained_activities bearer
    WHERE bearer.scope_id = $1 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $2
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
WHERE al.scope_id = $3
    AND al.kind = $4 AND al.value = $5
    AND (al.ended, al.activity_key) > ($6, $7)
ORDER BY al.ended, al.activity_key LIMIT $8;

-- explain, 2: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 bigint
SELECT r.kind, r.installation_hash, nullif(r.attributes_type, ''), coalesce(r.reason, 'handed-out'), CASE r.reason WHEN 'purged' THEN CASE WHEN r.token IS NULL THEN r.purged_at ELSE t.purged_at END WHEN 'logged-out' THEN r.removed_at
    WHEN 'deleted' THEN r.deleted_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'taken-over' THEN t.installation_observed_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE r.observed_at END, t.quarantine_reason, substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at
FROM (SELECT al.installation_hash FROM installation_aliases al
WHERE al.scope_id = $1
    AND al.kind = $2 AND al.value = $3 ORDER BY al.installation_hash LIMIT $4) AS named CROSS JOIN LATERAL (SELECT * FROM explained_installation_tokens its
    WHERE its.scope_id = $5 AND its.installation_hash = named.installation_hash OFFSET 0) AS r
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $6
    AND its.token_digest = r.token_digest LIMIT 1) AS t ON true
ORDER BY r.installation_hash, r.kind, r.attributes_type;

-- explain, 3: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 text, $6 text, $7 bigint, $8 text, $9 text
SELECT (SELECT x.erased_at FROM erasures x
        WHERE x.scope_id = $1
            -- Of the app's salt first: joined, all erasures would be compared with it.
            AND x.erased_digest = (
                SELECT sha256(uuid_send(app.erasure_salt) || convert_to(given.name, 'UTF8'))
                FROM apps app CROSS JOIN (SELECT $2::text AS name) AS given
                WHERE app.app_id = $3
            )),
    (EXISTS (SELECT FROM activity_aliases al WHERE al.scope_id = $4
    AND al.kind = $5 AND al.value = $6)
    OR EXISTS (SELECT FROM installation_aliases al WHERE al.scope_id = $7
    AND al.kind = $8 AND al.value = $9));

-- explain, 4: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 interval, $7 bigint, $8 bigint
SELECT l.lease_id, l.kind, l.value, l.installation_hash, l.attributes_type, l.plan_id, CASE WHEN coalesce(bearing.registered_at > l.leased_at, false) THEN 'registered' WHEN l.released_at IS NOT NULL THEN 'released'
    WHEN l.failed_at IS NOT NULL THEN 'failed' WHEN l.leased_until > now() THEN 'live' ELSE 'expired' END, l.leased_at, l.leased_until, (SELECT count(*) FROM unnest(l.attempted_at) AS attempts (began_at)
WHERE attempts.began_at > l.leased_at - interval '24 hours'), l.failure, l.retry_at FROM (SELECT * FROM start_leases its
WHERE its.scope_id = $1 AND its.kind = $2 AND its.value = $3
ORDER BY its.installation_hash LIMIT $4) AS l
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $5 AND its.installation_hash = l.installation_hash LIMIT 1
) AS phone ON true
CROSS JOIN LATERAL (
    SELECT max(b.activity_key) FILTER (WHERE b.state = 'active') AS running,
        -- Of one that is over by the times, a late repetition says nothing.
        max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
            CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
        coalesce((array_agg(b.end_reason = 'dismissed'
                AND b.expires_at > now() - $6
            ORDER BY b.started_at DESC, b.activity_key DESC))[1], false) AS was_dismissed
    FROM (
        SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
            phone.removed_at, phone.full_state_at) AS state
        FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
            SELECT * FROM activities a
            WHERE a.scope_id = $7 AND a.installation_hash = l.installation_hash
                AND (a.ended_at IS NULL) = kept.runs
            ORDER BY a.activity_key DESC LIMIT $8
        ) AS own
        WHERE own.aliases -> l.kind ? l.value
    ) AS b
) AS bearing
ORDER BY l.leased_at DESC, l.installation_hash;

-- explain, 5: $1 bigint, $2 bytea, $3 bigint, $4 bigint, $5 interval, $6 bigint, $7 bigint
SELECT l.lease_id, l.kind, l.value, l.installation_hash, l.attributes_type, l.plan_id, CASE WHEN coalesce(bearing.registered_at > l.leased_at, false) THEN 'registered' WHEN l.released_at IS NOT NULL THEN 'released'
    WHEN l.failed_at IS NOT NULL THEN 'failed' WHEN l.leased_until > now() THEN 'live' ELSE 'expired' END, l.leased_at, l.leased_until, (SELECT count(*) FROM unnest(l.attempted_at) AS attempts (began_at)
WHERE attempts.began_at > l.leased_at - interval '24 hours'), l.failure, l.retry_at FROM (SELECT * FROM start_leases its
WHERE its.scope_id = $1 AND its.installation_hash = $2
ORDER BY its.leased_at DESC LIMIT $3) AS l
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at FROM installations its
    WHERE its.scope_id = $4 AND its.installation_hash = l.installation_hash LIMIT 1
) AS phone ON true
CROSS JOIN LATERAL (
    SELECT max(b.activity_key) FILTER (WHERE b.state = 'active') AS running,
        -- Of one that is over by the times, a late repetition says nothing.
        max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
            CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
        coalesce((array_agg(b.end_reason = 'dismissed'
                AND b.expires_at > now() - $5
            ORDER BY b.started_at DESC, b.activity_key DESC))[1], false) AS was_dismissed
    FROM (
        SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
            phone.removed_at, phone.full_state_at) AS state
        FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
            SELECT * FROM activities a
            WHERE a.scope_id = $6 AND a.installation_hash = l.installation_hash
                AND (a.ended_at IS NULL) = kept.runs
            ORDER BY a.activity_key DESC LIMIT $7
        ) AS own
        WHERE own.aliases -> l.kind ? l.value
    ) AS b
) AS bearing
ORDER BY l.leased_at DESC, l.installation_hash;
