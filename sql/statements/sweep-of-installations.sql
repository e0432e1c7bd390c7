-- sweep of installations, 1: $1 bigint, $2 bigint, $3 interval, $4 bigint
DELETE FROM installation_tokens r WHERE r.scope_id = $1::numeric AND r.ctid = ANY(ARRAY(
    SELECT s.ctid FROM installation_tokens s
    WHERE s.scope_id = $2 AND s.token IS NULL AND s.touched_at <= now() - $3
    ORDER BY s.touched_at LIMIT $4 FOR UPDATE SKIP LOCKED
));

-- sweep of installations, 2: $1 bigint, $2 bigint, $3 interval, $4 bigint, $5 interval, $6 interval, $7 bigint, $8 bigint, $9 bigint
WITH old AS MATERIALIZED (
    SELECT v.ctid AS place, EXISTS (SELECT FROM installation_tokens r WHERE r.scope_id = $1
            AND NOT r.has_one_owner AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
        OR EXISTS (SELECT FROM installation_tokens r WHERE r.scope_id = $2
            AND r.installation_hash = v.installation_hash AND r.kind = v.installation_kind
            AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
        OR coalesce(v.dead_at > now() - $3, false) AS is_held
    FROM token_values v
    WHERE v.scope_id = $4 AND v.activity_id IS NULL
        AND (v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL)
        AND v.touched_at <= now() - greatest($5, $6)
    ORDER BY v.touched_at LIMIT $7 FOR UPDATE SKIP LOCKED
), held AS (
    UPDATE token_values t SET touched_at = now() WHERE t.scope_id = $8::numeric
        AND t.ctid = ANY(ARRAY(SELECT old.place FROM old WHERE old.is_held))
), unheld AS (
    DELETE FROM token_values t WHERE t.scope_id = $9::numeric
        AND t.ctid = ANY(ARRAY(SELECT old.place FROM old WHERE NOT old.is_held))
)
SELECT count(*) FROM old;

-- sweep of installations, 3: $1 bigint, $2 bytea, $3 bigint, $4 bigint, $5 bytea, $6 bigint, $7 bigint, $8 bigint, $9 interval, $10 interval, $11 bigint, $12 bigint
WITH page AS MATERIALIZED (
    (SELECT i.installation_hash FROM installations i
        WHERE i.scope_id = $1 AND i.installation_hash >= $2
        ORDER BY i.installation_hash LIMIT $3)
    UNION ALL
    (SELECT i.installation_hash FROM installations i
        WHERE i.scope_id = $4 AND i.installation_hash < $5
        ORDER BY i.installation_hash LIMIT $6)
    LIMIT $7
)
SELECT i.installation_hash FROM page CROSS JOIN LATERAL (
    SELECT * FROM installations own
    WHERE own.scope_id = $8 AND own.installation_hash = page.installation_hash
        AND own.touched_at <= now() - greatest($9, $10)
        AND NOT EXISTS (SELECT FROM installation_tokens r WHERE r.scope_id = $11
            AND r.installation_hash = own.installation_hash)
        AND NOT EXISTS (SELECT FROM activities a WHERE a.scope_id = $12
            AND a.installation_hash = own.installation_hash)
    FOR UPDATE SKIP LOCKED
) AS i;

-- sweep of installations, 4: $1 bigint, $2 bytea[], $3 bigint
DELETE FROM installation_aliases d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installation_aliases its
    WHERE its.scope_id = $3
        AND its.installation_hash = named.hash OFFSET 0
) AS found
));

-- sweep of installations, 5: $1 bigint, $2 bytea[], $3 bigint
DELETE FROM installations d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installations its
    WHERE its.scope_id = $3
        AND its.installation_hash = named.hash OFFSET 0
) AS found
));
