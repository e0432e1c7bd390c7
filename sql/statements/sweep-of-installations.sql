-- sweep of installations, 1: $1 bigint, $2 bigint, $3 text, $4 interval, $5 bigint
DELETE FROM installation_tokens r WHERE r.app_number = $1::numeric AND r.ctid = ANY(ARRAY(
    SELECT s.ctid FROM installation_tokens s
    WHERE s.app_number = $2 AND s.environment = $3::apns_environment AND s.token IS NULL AND s.touched_at <= now() - $4
    ORDER BY s.touched_at LIMIT $5 FOR UPDATE SKIP LOCKED
));

-- sweep of installations, 2: $1 bigint, $2 text, $3 bigint, $4 text, $5 interval, $6 bigint, $7 text, $8 interval, $9 interval, $10 bigint, $11 bigint, $12 bigint
WITH old AS MATERIALIZED (
    SELECT v.ctid AS place, EXISTS (SELECT FROM installation_tokens r WHERE r.app_number = $1 AND r.environment = $2::apns_environment
            AND NOT r.has_one_owner AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
        OR EXISTS (SELECT FROM installation_tokens r WHERE r.app_number = $3 AND r.environment = $4::apns_environment
            AND r.installation_hash = v.installation_hash AND r.kind = v.installation_kind
            AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
        OR coalesce(v.dead_at > now() - $5, false) AS is_held
    FROM token_values v
    WHERE v.app_number = $6 AND v.environment = $7::apns_environment AND v.activity_id IS NULL
        AND (v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL)
        AND v.touched_at <= now() - greatest($8, $9)
    ORDER BY v.touched_at LIMIT $10 FOR UPDATE SKIP LOCKED
), held AS (
    UPDATE token_values t SET touched_at = now() WHERE t.app_number = $11::numeric
        AND t.ctid = ANY(ARRAY(SELECT old.place FROM old WHERE old.is_held))
), unheld AS (
    DELETE FROM token_values t WHERE t.app_number = $12::numeric
        AND t.ctid = ANY(ARRAY(SELECT old.place FROM old WHERE NOT old.is_held))
)
SELECT count(*) FROM old;

-- sweep of installations, 3: $1 bigint, $2 text, $3 bytea, $4 bigint, $5 bigint, $6 text, $7 bytea, $8 bigint, $9 bigint, $10 bigint, $11 text, $12 interval, $13 interval, $14 bigint, $15 text, $16 bigint, $17 text
WITH page AS MATERIALIZED (
    (SELECT i.installation_hash FROM installations i
        WHERE i.app_number = $1 AND i.environment = $2::apns_environment AND i.installation_hash >= $3
        ORDER BY i.installation_hash LIMIT $4)
    UNION ALL
    (SELECT i.installation_hash FROM installations i
        WHERE i.app_number = $5 AND i.environment = $6::apns_environment AND i.installation_hash < $7
        ORDER BY i.installation_hash LIMIT $8)
    LIMIT $9
)
SELECT i.installation_hash FROM page CROSS JOIN LATERAL (
    SELECT * FROM installations own
    WHERE own.app_number = $10 AND own.environment = $11::apns_environment AND own.installation_hash = page.installation_hash
        AND own.touched_at <= now() - greatest($12, $13)
        AND NOT EXISTS (SELECT FROM installation_tokens r WHERE r.app_number = $14 AND r.environment = $15::apns_environment
            AND r.installation_hash = own.installation_hash)
        AND NOT EXISTS (SELECT FROM activities a WHERE a.app_number = $16 AND a.environment = $17::apns_environment
            AND a.installation_hash = own.installation_hash)
    FOR UPDATE SKIP LOCKED
) AS i;

-- sweep of installations, 4: $1 bigint, $2 bytea[], $3 bigint, $4 text
DELETE FROM installation_aliases d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installation_aliases its
    WHERE its.app_number = $3 AND its.environment = $4::apns_environment
        AND its.installation_hash = named.hash OFFSET 0
) AS found
));

-- sweep of installations, 5: $1 bigint, $2 bytea[], $3 bigint, $4 text
DELETE FROM installations d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installations its
    WHERE its.app_number = $3 AND its.environment = $4::apns_environment
        AND its.installation_hash = named.hash OFFSET 0
) AS found
));
