-- leases, 1: $1 bytea[], $2 text[], $3 bigint, $4 bytea[], $5 bigint
UPDATE start_leases l SET (failed_at, failure, retry_at, leased_until, touched_at) = (
    SELECT CASE WHEN (l.failed_at IS NOT NULL OR l.released_at IS NOT NULL) THEN l.failed_at ELSE f.at END, CASE WHEN (l.failed_at IS NOT NULL OR l.released_at IS NOT NULL) THEN l.failure ELSE f.failures[array_position(f.lease_ids, l.lease_id)] END, CASE WHEN (l.failed_at IS NOT NULL OR l.released_at IS NOT NULL) THEN l.retry_at ELSE f.retries[greatest(1, coalesce((l.attempted_at[1] > f.day_ago)::int, 0) + coalesce((l.attempted_at[2] > f.day_ago)::int, 0) + coalesce((l.attempted_at[3] > f.day_ago)::int, 0))] END, least(l.leased_until, f.at), f.at
    FROM (
        -- Beside the assignments, which a distributed Postgres lets ask no clock.
        SELECT now() AS at, now() - interval '24 hours' AS day_ago, ARRAY[now() + interval '1 minute', now() + interval '5 minutes', now() + interval '15 minutes'] AS retries,
            $1::bytea[] AS lease_ids, $2::text[] AS failures
    ) AS f
)
WHERE l.scope_id = $3::numeric AND l.ctid = ANY(ARRAY(
    SELECT found.place FROM (SELECT * FROM unnest($4) AS given (lease_id) ORDER BY given.lease_id) AS q
    CROSS JOIN LATERAL (
        SELECT its.ctid AS place FROM start_leases its
        WHERE its.scope_id = $5 AND its.lease_id = q.lease_id LIMIT 1 FOR UPDATE
    ) AS found
));

-- leases, 2: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bytea[], $7 bigint
INSERT INTO events (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id
)
WITH given (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3, $4, l.installation_hash,
    (SELECT i.subject FROM installations i
    WHERE i.scope_id = $5 AND i.installation_hash = l.installation_hash),
    jsonb_build_object(l.kind, jsonb_build_array(l.value)), l.lease_id
FROM unnest($6) AS q (lease_id) CROSS JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $7 AND its.lease_id = q.lease_id LIMIT 1
) AS l WHERE l.failed_at = l.touched_at
)
SELECT * FROM given;

-- leases, 3: $1 bigint, $2 bytea
UPDATE start_leases l SET leased_until = least(l.leased_until, f.at), touched_at = f.at,
    released_at = CASE WHEN l.failed_at IS NULL AND l.leased_until > f.at THEN f.at ELSE l.released_at END,
    attempted_at = CASE WHEN l.failed_at IS NULL AND l.leased_until > f.at
        THEN l.attempted_at[:cardinality(l.attempted_at) - 1] ELSE l.attempted_at END
FROM (SELECT now() AS at) AS f
WHERE l.scope_id = $1 AND l.lease_id = $2;

-- leases, 4: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bytea[], $7 bigint
INSERT INTO events (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id
)
WITH given (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3, $4, l.installation_hash,
    (SELECT i.subject FROM installations i
    WHERE i.scope_id = $5 AND i.installation_hash = l.installation_hash),
    jsonb_build_object(l.kind, jsonb_build_array(l.value)), l.lease_id
FROM unnest($6) AS q (lease_id) CROSS JOIN LATERAL (
    SELECT * FROM start_leases its
    WHERE its.scope_id = $7 AND its.lease_id = q.lease_id LIMIT 1
) AS l WHERE l.released_at = l.touched_at
)
SELECT * FROM given;

-- leases, 5: $1 bigint, $2 bigint, $3 text, $4 text, $5 bigint
DELETE FROM start_leases d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT l.ctid FROM start_leases l
    WHERE l.scope_id = $2 AND l.kind = $3 AND l.value = $4
    LIMIT $5 FOR UPDATE
));

-- leases, 6: $1 bigint, $2 bigint, $3 bigint
DELETE FROM start_leases d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT l.ctid FROM start_leases l
    WHERE l.scope_id = $2 AND l.leased_until > '-infinity'
        AND l.leased_until <= now() - interval '24 hours'
    ORDER BY l.leased_until LIMIT $3 FOR UPDATE SKIP LOCKED
));
