-- sweep, 1: $1 bigint, $2 bigint
SELECT a.activity_id FROM activities a
WHERE a.scope_id = $1 AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
ORDER BY a.expires_at LIMIT $2 FOR UPDATE SKIP LOCKED;

-- sweep, 2: $1 bigint, $2 interval, $3 interval, $4 bigint
SELECT a.activity_id FROM activities a
WHERE a.scope_id = $1 AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
    AND a.expires_at <= now() - $2
    AND a.touched_at <= now() - $3
ORDER BY a.expires_at LIMIT $4 FOR UPDATE SKIP LOCKED;

-- sweep, 3: $1 bigint, $2 bigint, $3 interval, $4 bigint
DELETE FROM token_values t WHERE t.scope_id = $1 AND t.token_digest = ANY(ARRAY(
    SELECT v.token_digest FROM token_values v
    WHERE v.scope_id = $2 AND v.activity_id IS NULL AND v.installation_hash IS NULL
        AND v.start_observed_at IS NULL AND v.touched_at <= now() - $3
    ORDER BY v.touched_at LIMIT $4 FOR UPDATE SKIP LOCKED
));

-- sweep, 4: $1 bigint, $2 interval, $3 interval, $4 bigint
SELECT i.alias, i.owner FROM alias_identities i
WHERE i.scope_id = $1 AND i.touched_at > '-infinity'
    AND i.touched_at <= now() - $2 - $3
ORDER BY i.touched_at LIMIT $4 FOR UPDATE SKIP LOCKED;

-- sweep, 5: $1 bigint, $2 text[], $3 text[], $4 bigint
DELETE FROM alias_identities d WHERE d.scope_id = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row FROM unnest($2, $3) AS gone (alias, owner)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM alias_identities r
        WHERE r.scope_id = $4 AND r.alias = gone.alias AND r.owner = gone.owner OFFSET 0
    ) AS found
));

-- sweep, 6: $1 bigint, $2 text[]
UPDATE activities a SET token = NULL, expiry_recorded_at = now(), revision = a.revision + 1
WHERE a.scope_id = $1 AND a.activity_id = ANY($2);

-- sweep, 7: $1 bigint, $2 bigint, $3 text[], $4 bigint
UPDATE activity_aliases al SET ended = true WHERE al.scope_id = $1::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row FROM (SELECT m.* FROM activities m WHERE m.scope_id = $2 AND m.activity_id = ANY($3)) AS a CROSS JOIN LATERAL jsonb_each(a.aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM activity_aliases r
        WHERE r.scope_id = $4 AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (false)
            AND r.activity_key = a.activity_key
        LIMIT 1
    ) AS found
    WHERE (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
));

-- sweep, 8: $1 bigint, $2 interval, $3 text, $4 bigint, $5 text[]
INSERT INTO events (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
)
WITH given (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, e.type, e.who, e.activity_id, e.installation_hash, e.subject,
    e.aliases, substr(e.token_digest, 1, 4), e.token_kind, e.attributes_type
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'expired' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM activities a WHERE a.scope_id = $4 AND a.activity_id = ANY($5)) AS given) AS e
)
SELECT * FROM given;

-- sweep, 9: $1 bigint, $2 bigint, $3 bigint, $4 text[], $5 bigint, $6 bigint, $7 text[], $8 bigint, $9 bigint
WITH page AS MATERIALIZED (
    SELECT v.token_digest FROM activities a CROSS JOIN LATERAL (
        SELECT own.token_digest FROM token_values own
        WHERE own.scope_id = $1 AND own.activity_key = a.activity_key
        LIMIT $2
    ) AS v
    WHERE a.scope_id = $3 AND a.activity_id = ANY($4) LIMIT $5
), theirs AS MATERIALIZED (
    SELECT v.token_digest, v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL AS is_installations
    FROM token_values v
    WHERE v.scope_id = $6 AND v.token_digest = ANY(ARRAY(SELECT page.token_digest FROM page))
        AND v.activity_id = ANY($7)
    ORDER BY v.token_digest FOR UPDATE
), released AS (
    UPDATE token_values t SET activity_id = NULL, activity_key = NULL, observed_at = NULL, touched_at = now()
    WHERE t.scope_id = $8
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_installations))
), deleted AS (
    DELETE FROM token_values t WHERE t.scope_id = $9
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_installations))
)
SELECT count(*) FROM page;

-- sweep, 10: $1 bigint, $2 bigint, $3 text[], $4 bigint
DELETE FROM activity_aliases al WHERE al.scope_id = $1::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row FROM (SELECT m.* FROM activities m WHERE m.scope_id = $2 AND m.activity_id = ANY($3)) AS a CROSS JOIN LATERAL jsonb_each(a.aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM activity_aliases r
        WHERE r.scope_id = $4 AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
            AND r.activity_key = a.activity_key
        LIMIT 1
    ) AS found
    WHERE true
));

-- sweep, 11: $1 bigint, $2 text[]
DELETE FROM activities a WHERE a.scope_id = $1 AND a.activity_id = ANY($2);
