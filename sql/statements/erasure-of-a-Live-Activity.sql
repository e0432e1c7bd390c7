-- erasure of a Live Activity, 1: $1 text, $2 text, $3 bigint
INSERT INTO erasures AS stored (app_number, environment, erased_digest, erased_at)
SELECT app.app_number, $1::apns_environment, sha256(uuid_send(app.erasure_salt) || convert_to(given.name, 'UTF8')), clock_timestamp()
FROM apps app CROSS JOIN (SELECT $2::text AS name) AS given
WHERE app.app_number = $3
ON CONFLICT (app_number, environment, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- erasure of a Live Activity, 2: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 text, $6 text, $7 text, $8 bigint
SELECT a.activity_id FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY(ARRAY(SELECT bearer.activity_id FROM activity_aliases al CROSS JOIN LATERAL (
    SELECT b.activity_id FROM activities b
    WHERE b.app_number = $3 AND b.activity_number = al.activity_number
        AND b.activity_number > 0 LIMIT 1
) AS bearer
WHERE al.app_number = $4 AND al.environment = $5::apns_environment AND al.kind = $6 AND al.value = $7 LIMIT $8))
ORDER BY a.activity_id FOR UPDATE;

-- erasure of a Live Activity, 3: $1 bigint, $2 text, $3 text[], $4 text[], $5 bigint, $6 text, $7 bigint, $8 text
WITH page AS MATERIALIZED (
    SELECT o.event_number FROM events o
    WHERE o.app_number = $1::numeric
        AND (o.environment = $2::apns_environment) IS TRUE AND hashtextextended(o.activity_id, 0) = ANY(ARRAY(
    SELECT hashtextextended(q.id, 0) FROM unnest($3) AS q (id)
)) AND o.activity_id = ANY($4)
    LIMIT $5
), redacted AS (UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
    token_fingerprint = NULL, who = CASE WHEN starts_with(e.who, $6) THEN 'erased' ELSE e.who END
WHERE e.app_number = $7 AND e.environment = $8::apns_environment AND e.event_number = ANY(ARRAY(SELECT page.event_number FROM page)))
SELECT count(*) FROM page;

-- erasure of a Live Activity, 4: $1 bigint, $2 text, $3 text[], $4 bigint, $5 bigint, $6 text, $7 text[], $8 bigint
WITH page AS MATERIALIZED (
    SELECT f.ctid AS place, f.token_digest FROM former_claims f
    WHERE f.app_number = $1 AND f.environment = $2::apns_environment AND f.activity_id = ANY($3) LIMIT $4
), released AS (
    UPDATE token_values t SET displaced_activity_id = NULL, displaced_observed_at = NULL
    WHERE t.app_number = $5 AND t.environment = $6::apns_environment AND t.token_digest = ANY(ARRAY(SELECT page.token_digest FROM page))
        AND t.displaced_activity_id = ANY($7)
), gone AS (
    DELETE FROM former_claims d
    WHERE d.app_number = $8::numeric AND d.ctid = ANY(ARRAY(SELECT page.place FROM page))
)
SELECT count(*) FROM page;

-- erasure of a Live Activity, 5: $1 text, $2 text[], $3 bigint
INSERT INTO erasures AS stored (app_number, environment, erased_digest, erased_at)
SELECT app.app_number, $1::apns_environment, sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || q.id, 'UTF8')), clock_timestamp()
FROM apps app CROSS JOIN unnest($2) AS q (id)
WHERE app.app_number = $3
ORDER BY 3
ON CONFLICT (app_number, environment, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- erasure of a Live Activity, 6: $1 bigint, $2 text, $3 text[]
UPDATE activities a SET token = NULL, revision = a.revision + 1
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY($3) AND a.token IS NOT NULL;

-- erasure of a Live Activity, 7: the same as erasure of a Live Activity, 5

-- erasure of a Live Activity, 8: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 text[]
DELETE FROM alias_registrations d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row FROM activities a
    CROSS JOIN LATERAL jsonb_array_elements_text(a.aliases -> $2) AS named
    CROSS JOIN unnest(ARRAY['installation:' || encode(a.installation_hash, 'hex'), 'subject:' || a.subject, 'app'])
        AS owners (owner)
    LEFT JOIN LATERAL (
        SELECT true AS is_whole FROM alias_identities i
        WHERE i.app_number = $3 AND i.environment = $4::apns_environment AND i.alias = named.value AND i.owner = owners.owner
            AND a.activity_id IN (i.activity_id, i.closed_activity_id) LIMIT 1
    ) AS its ON true
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row, r.activity_id FROM alias_registrations r
        WHERE r.app_number = $5 AND r.environment = $6::apns_environment AND r.alias = named.value AND r.owner = owners.owner OFFSET 0
    ) AS found
    WHERE a.app_number = $7 AND a.environment = $8::apns_environment AND a.activity_id = ANY($9)
        AND (its.is_whole OR found.activity_id = a.activity_id)
));

-- erasure of a Live Activity, 9: $1 bigint, $2 text, $3 bigint, $4 text, $5 bigint, $6 text, $7 bigint, $8 text, $9 text[]
DELETE FROM alias_identities d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row FROM activities a
    CROSS JOIN LATERAL jsonb_array_elements_text(a.aliases -> $2) AS named
    CROSS JOIN unnest(ARRAY['installation:' || encode(a.installation_hash, 'hex'), 'subject:' || a.subject, 'app'])
        AS owners (owner)
    LEFT JOIN LATERAL (
        SELECT true AS is_whole FROM alias_identities i
        WHERE i.app_number = $3 AND i.environment = $4::apns_environment AND i.alias = named.value AND i.owner = owners.owner
            AND a.activity_id IN (i.activity_id, i.closed_activity_id) LIMIT 1
    ) AS its ON true
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row, r.activity_id FROM alias_identities r
        WHERE r.app_number = $5 AND r.environment = $6::apns_environment AND r.alias = named.value AND r.owner = owners.owner OFFSET 0
    ) AS found
    WHERE a.app_number = $7 AND a.environment = $8::apns_environment AND a.activity_id = ANY($9)
        AND (its.is_whole OR found.activity_id = a.activity_id)
));

-- erasure of a Live Activity, 10: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint, $7 text
SELECT i.installation_hash
FROM (
    SELECT found.hash FROM (SELECT al.installation_hash FROM installation_aliases al
WHERE al.app_number = $1 AND al.environment = $2::apns_environment AND al.kind = $3 AND al.value = $4 LIMIT $5) AS found (hash) ORDER BY found.hash
) AS named CROSS JOIN LATERAL (
    SELECT its.installation_hash FROM installations its
    WHERE its.app_number = $6 AND its.environment = $7::apns_environment AND its.installation_hash = named.hash LIMIT 1 FOR UPDATE
) AS i;

-- erasure of a Live Activity, 11: $1 bigint, $2 text, $3 text, $4 bigint
SELECT i.alias, i.owner FROM alias_identities i
WHERE i.app_number = $1 AND i.environment = $2::apns_environment AND i.alias = $3 LIMIT $4 FOR UPDATE;

-- erasure of a Live Activity, 12
SELECT set_config('enable_seqscan', 'off', true);

-- erasure of a Live Activity, 13: $1 text, $2 bytea[], $3 bigint
INSERT INTO erasures AS stored (app_number, environment, erased_digest, erased_at)
SELECT app.app_number, $1::apns_environment, sha256(uuid_send(app.erasure_salt) || convert_to('installation:' || encode(q.installation_hash, 'hex'), 'UTF8')), clock_timestamp()
FROM apps app CROSS JOIN unnest($2) AS q (installation_hash)
WHERE app.app_number = $3
ORDER BY 3
ON CONFLICT (app_number, environment, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- erasure of a Live Activity, 14: $1 bytea[], $2 bigint, $3 text, $4 bigint, $5 bigint, $6 text, $7 bigint, $8 bigint, $9 bytea[], $10 bigint, $11 text, $12 bytea[], $13 bigint, $14 text, $15 bytea[], $16 bigint, $17 text, $18 bytea[], $19 bytea[], $20 bigint, $21 text, $22 bytea[], $23 bigint, $24 text
WITH page AS MATERIALIZED (
    SELECT v.token_digest FROM unnest($1) AS named (hash) CROSS JOIN LATERAL (
        (SELECT its.token_digest FROM token_values its
            WHERE its.app_number = $2 AND its.environment = $3::apns_environment AND its.installation_hash = named.hash
                AND its.installation_hash > '' LIMIT $4)
        UNION ALL
        (SELECT its.token_digest FROM token_values its
            WHERE its.app_number = $5 AND its.environment = $6::apns_environment AND its.displaced_installation_hash = named.hash
                AND its.displaced_installation_hash > '' LIMIT $7)
    ) AS v LIMIT $8
), theirs AS MATERIALIZED (
    SELECT t.token_digest, (t.activity_id IS NULL AND (t.installation_hash = ANY($9) OR (
        -- One value, not a set that all tokens are read for.
        t.installation_hash IS NULL AND (SELECT true FROM installation_tokens r
            WHERE r.app_number = $10 AND r.environment = $11::apns_environment AND NOT r.has_one_owner AND r.token_digest = t.token_digest
                AND r.installation_hash <> ALL($12) LIMIT 1) IS NULL
    ))) IS TRUE AS is_nobodys
    FROM token_values t WHERE t.app_number = $13 AND t.environment = $14::apns_environment AND t.token_digest = ANY(ARRAY(
        SELECT page.token_digest FROM page
        UNION ALL SELECT found.it FROM unnest($15) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.token_digest AS it FROM installation_tokens its
    WHERE its.app_number = $16 AND its.environment = $17::apns_environment
        AND its.installation_hash = named.hash OFFSET 0
) AS found
    )) AND (t.installation_hash = ANY($18) OR t.displaced_installation_hash = ANY($19)
        OR (t.activity_id IS NULL AND t.installation_hash IS NULL))
    ORDER BY t.token_digest FOR UPDATE
), deleted AS (
    DELETE FROM token_values t WHERE t.app_number = $20 AND t.environment = $21::apns_environment
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_nobodys))
    RETURNING t.token_digest
), released AS (
    UPDATE token_values t SET installation_hash = CASE WHEN NOT t.installation_hash = ANY(gone.hashes) THEN t.installation_hash END, installation_kind = CASE WHEN NOT t.installation_hash = ANY(gone.hashes) THEN t.installation_kind END, installation_observed_at = CASE WHEN NOT t.installation_hash = ANY(gone.hashes) THEN t.installation_observed_at END,
        displaced_installation_hash = NULL, displaced_installation_kind = NULL
    FROM (SELECT $22::bytea[] AS hashes OFFSET 0) AS gone
    WHERE t.app_number = $23 AND t.environment = $24::apns_environment
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_nobodys))
        AND (t.installation_hash = ANY(gone.hashes) OR t.displaced_installation_hash = ANY(gone.hashes))
    RETURNING t.token_digest
)
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM deleted) + (SELECT count(*) FROM released);

-- erasure of a Live Activity, 15: $1 bigint, $2 bytea[], $3 bigint, $4 text, $5 bigint
DELETE FROM installation_tokens d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installation_tokens its
    WHERE its.app_number = $3 AND its.environment = $4::apns_environment
        AND its.installation_hash = named.hash OFFSET 0
) AS found LIMIT $5
));

-- erasure of a Live Activity, 16: $1 bigint, $2 bytea[], $3 bigint, $4 text, $5 bigint
DELETE FROM start_leases d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM start_leases its
    WHERE its.app_number = $3 AND its.environment = $4::apns_environment
        AND its.installation_hash = named.hash OFFSET 0
) AS found LIMIT $5
));

-- erasure of a Live Activity, 17: $1 bigint, $2 text, $3 bytea[], $4 bigint, $5 text, $6 bigint, $7 text
WITH page AS MATERIALIZED (
    SELECT o.event_number FROM events o
    WHERE o.app_number = $1::numeric
        AND (o.environment = $2::apns_environment) IS TRUE AND o.installation_hash = ANY($3)
    LIMIT $4
), redacted AS (UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
    token_fingerprint = NULL, who = CASE WHEN starts_with(e.who, $5) THEN 'erased' ELSE e.who END
WHERE e.app_number = $6 AND e.environment = $7::apns_environment AND e.event_number = ANY(ARRAY(SELECT page.event_number FROM page)))
SELECT count(*) FROM page;

-- erasure of a Live Activity, 18: $1 bigint, $2 text, $3 text, $4 text
DELETE FROM channels c
WHERE c.app_number = $1 AND c.environment = $2::apns_environment AND c.kind = $3 AND c.value = $4;
