-- erasure of a Live Activity, 1: $1 bigint, $2 text, $3 bigint
INSERT INTO erasures AS stored (scope_id, erased_digest, erased_at)
SELECT $1, sha256(uuid_send(app.erasure_salt) || convert_to(given.name, 'UTF8')), clock_timestamp()
FROM apps app CROSS JOIN (SELECT $2::text AS name) AS given
WHERE app.app_id = $3
ON CONFLICT (scope_id, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- erasure of a Live Activity, 2: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text, $6 bigint
SELECT a.activity_id FROM activities a
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(SELECT bearer.activity_id FROM activity_aliases al CROSS JOIN LATERAL (
    SELECT b.activity_id FROM activities b
    WHERE b.scope_id = $2 AND b.activity_key = al.activity_key
        AND b.activity_key > 0 LIMIT 1
) AS bearer
WHERE al.scope_id = $3 AND al.kind = $4 AND al.value = $5 LIMIT $6))
ORDER BY a.activity_id FOR UPDATE;

-- erasure of a Live Activity, 3: $1 bigint, $2 text[], $3 text[], $4 bigint, $5 text, $6 bigint
WITH page AS MATERIALIZED (
    SELECT o.event_number FROM events o
    WHERE o.scope_id = $1::numeric AND hashtextextended(o.activity_id, 0) = ANY(ARRAY(
    SELECT hashtextextended(q.id, 0) FROM unnest($2) AS q (id)
)) AND o.activity_id = ANY($3)
    LIMIT $4
), redacted AS (UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
    token_fingerprint = NULL, who = CASE WHEN starts_with(e.who, $5) THEN 'erased' ELSE e.who END
WHERE e.scope_id = $6 AND e.event_number = ANY(ARRAY(SELECT page.event_number FROM page)))
SELECT count(*) FROM page;

-- erasure of a Live Activity, 4: $1 bigint, $2 text[], $3 bigint
INSERT INTO erasures AS stored (scope_id, erased_digest, erased_at)
SELECT $1, sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || q.id, 'UTF8')), clock_timestamp()
FROM apps app CROSS JOIN unnest($2) AS q (id)
WHERE app.app_id = $3
ORDER BY 2
ON CONFLICT (scope_id, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- erasure of a Live Activity, 5: $1 bigint, $2 text[]
UPDATE activities a SET token = NULL, revision = a.revision + 1
WHERE a.scope_id = $1 AND a.activity_id = ANY($2) AND a.token IS NOT NULL;

-- erasure of a Live Activity, 6: the same as erasure of a Live Activity, 4

-- erasure of a Live Activity, 7: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 text[]
DELETE FROM alias_identities d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row FROM activities a
    CROSS JOIN LATERAL jsonb_array_elements_text(a.aliases -> $2) AS named
    CROSS JOIN unnest(ARRAY['installation:' || encode(a.installation_hash, 'hex'), 'subject:' || a.subject, 'app'])
        AS owners (owner)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row, r.activity_id FROM alias_identities r
        WHERE r.scope_id = $3 AND r.alias = named.value AND r.owner = owners.owner OFFSET 0
    ) AS found
    WHERE a.scope_id = $4 AND a.activity_id = ANY($5) AND found.activity_id = a.activity_id
));

-- erasure of a Live Activity, 8: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint
SELECT i.installation_hash
FROM (
    SELECT found.hash FROM (SELECT al.installation_hash FROM installation_aliases al
WHERE al.scope_id = $1 AND al.kind = $2 AND al.value = $3 LIMIT $4) AS found (hash) ORDER BY found.hash
) AS named CROSS JOIN LATERAL (
    SELECT its.installation_hash FROM installations its
    WHERE its.scope_id = $5 AND its.installation_hash = named.hash LIMIT 1 FOR UPDATE
) AS i;

-- erasure of a Live Activity, 9: $1 bigint, $2 text, $3 bigint
SELECT i.alias, i.owner FROM alias_identities i
WHERE i.scope_id = $1 AND i.alias = $2 LIMIT $3 FOR UPDATE;

-- erasure of a Live Activity, 10
SELECT set_config('enable_seqscan', 'off', true);

-- erasure of a Live Activity, 11: $1 bigint, $2 bytea[], $3 bigint
INSERT INTO erasures AS stored (scope_id, erased_digest, erased_at)
SELECT $1, sha256(uuid_send(app.erasure_salt) || convert_to('installation:' || encode(q.installation_hash, 'hex'), 'UTF8')), clock_timestamp()
FROM apps app CROSS JOIN unnest($2) AS q (installation_hash)
WHERE app.app_id = $3
ORDER BY 2
ON CONFLICT (scope_id, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- erasure of a Live Activity, 12: $1 bytea[], $2 bigint, $3 bigint, $4 bigint, $5 bytea[], $6 bigint, $7 bytea[], $8 bigint, $9 bytea[], $10 bigint, $11 bytea[], $12 bigint, $13 bigint, $14 bytea[]
WITH page AS MATERIALIZED (
    SELECT v.token_digest FROM unnest($1) AS named (hash) CROSS JOIN LATERAL (
        SELECT its.token_digest FROM token_values its
        WHERE its.scope_id = $2 AND its.installation_hash = named.hash
            AND its.installation_hash > '' LIMIT $3
    ) AS v LIMIT $4
), theirs AS MATERIALIZED (
    SELECT t.token_digest, (t.activity_id IS NULL AND (t.installation_hash = ANY($5) OR (
        -- One value, not a set that all tokens are read for.
        t.installation_hash IS NULL AND (SELECT true FROM installation_tokens r
            WHERE r.scope_id = $6 AND NOT r.has_one_owner AND r.token_digest = t.token_digest
                AND r.installation_hash <> ALL($7) LIMIT 1) IS NULL
    ))) IS TRUE AS is_nobodys
    FROM token_values t WHERE t.scope_id = $8 AND t.token_digest = ANY(ARRAY(
        SELECT page.token_digest FROM page
        UNION ALL SELECT found.it FROM unnest($9) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.token_digest AS it FROM installation_tokens its
    WHERE its.scope_id = $10
        AND its.installation_hash = named.hash OFFSET 0
) AS found
    )) AND (t.installation_hash = ANY($11) OR (t.activity_id IS NULL AND t.installation_hash IS NULL))
    ORDER BY t.token_digest FOR UPDATE
), deleted AS (
    DELETE FROM token_values t WHERE t.scope_id = $12
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_nobodys))
    RETURNING t.token_digest
), released AS (
    UPDATE token_values t SET installation_hash = NULL, installation_kind = NULL, installation_observed_at = NULL
    WHERE t.scope_id = $13
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_nobodys))
        AND t.installation_hash = ANY($14)
    RETURNING t.token_digest
)
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM deleted) + (SELECT count(*) FROM released);

-- erasure of a Live Activity, 13: $1 bigint, $2 bytea[], $3 bigint, $4 bigint
DELETE FROM installation_tokens d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM installation_tokens its
    WHERE its.scope_id = $3
        AND its.installation_hash = named.hash OFFSET 0
) AS found LIMIT $4
));

-- erasure of a Live Activity, 14: $1 bigint, $2 bytea[], $3 bigint, $4 bigint
DELETE FROM start_leases d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.it FROM unnest($2) AS named (hash) CROSS JOIN LATERAL (
    SELECT its.ctid AS it FROM start_leases its
    WHERE its.scope_id = $3
        AND its.installation_hash = named.hash OFFSET 0
) AS found LIMIT $4
));

-- erasure of a Live Activity, 15: $1 bigint, $2 bytea[], $3 bigint, $4 text, $5 bigint
WITH page AS MATERIALIZED (
    SELECT o.event_number FROM events o
    WHERE o.scope_id = $1::numeric AND o.installation_hash = ANY($2)
    LIMIT $3
), redacted AS (UPDATE events e SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL,
    token_fingerprint = NULL, who = CASE WHEN starts_with(e.who, $4) THEN 'erased' ELSE e.who END
WHERE e.scope_id = $5 AND e.event_number = ANY(ARRAY(SELECT page.event_number FROM page)))
SELECT count(*) FROM page;

-- erasure of a Live Activity, 16: $1 bigint, $2 text, $3 text
DELETE FROM channels c
WHERE c.scope_id = $1 AND c.kind = $2 AND c.value = $3;
