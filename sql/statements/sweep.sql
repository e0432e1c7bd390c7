-- sweep, 1: $1 bigint, $2 text, $3 bigint
SELECT a.activity_id FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
ORDER BY a.expires_at LIMIT $3 FOR UPDATE SKIP LOCKED;

-- sweep, 2: $1 bigint, $2 text, $3 interval, $4 interval, $5 bigint
SELECT a.activity_id FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
    AND a.expires_at <= now() - $3
    AND a.touched_at <= now() - $4
ORDER BY a.expires_at LIMIT $5 FOR UPDATE SKIP LOCKED;

-- sweep, 3: $1 bigint, $2 text, $3 bigint, $4 text, $5 interval, $6 bigint
DELETE FROM token_values t WHERE t.app_number = $1 AND t.environment = $2::apns_environment AND t.token_digest = ANY(ARRAY(
    SELECT v.token_digest FROM token_values v
    WHERE v.app_number = $3 AND v.environment = $4::apns_environment AND v.activity_id IS NULL AND v.installation_hash IS NULL
        AND v.start_observed_at IS NULL AND v.touched_at <= now() - $5
    ORDER BY v.touched_at LIMIT $6 FOR UPDATE SKIP LOCKED
));

-- sweep, 4: $1 bigint, $2 text, $3 interval, $4 interval, $5 bigint
SELECT i.alias, i.owner FROM alias_identities i
WHERE i.app_number = $1 AND i.environment = $2::apns_environment AND i.touched_at > '-infinity'
    AND i.touched_at <= now() - $3 - $4
ORDER BY i.touched_at LIMIT $5 FOR UPDATE SKIP LOCKED;

-- sweep, 5: $1 bigint, $2 text[], $3 text[], $4 bigint, $5 text
DELETE FROM alias_registrations d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row FROM unnest($2, $3) AS gone (alias, owner)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM alias_registrations r
        WHERE r.app_number = $4 AND r.environment = $5::apns_environment AND r.alias = gone.alias AND r.owner = gone.owner OFFSET 0
    ) AS found
));

-- sweep, 6: $1 bigint, $2 text[], $3 text[], $4 bigint, $5 text
DELETE FROM alias_identities d WHERE d.app_number = $1::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row FROM unnest($2, $3) AS gone (alias, owner)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM alias_identities r
        WHERE r.app_number = $4 AND r.environment = $5::apns_environment AND r.alias = gone.alias AND r.owner = gone.owner OFFSET 0
    ) AS found
));

-- sweep, 7: $1 bigint, $2 text, $3 text[]
UPDATE activities a SET token = NULL, expiry_recorded_at = now(), revision = a.revision + 1
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY($3);

-- sweep, 8: the same as end, 2

-- sweep, 9: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 text[]
INSERT INTO events (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
)
WITH given (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4),
    e.token_kind, e.attributes_type
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'expired' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM activities a WHERE a.app_number = $5 AND a.environment = $6::apns_environment AND a.activity_id = ANY($7)) AS given) AS e
)
SELECT * FROM given;

-- sweep, 10: $1 bigint, $2 bigint, $3 text, $4 text[], $5 bigint
DELETE FROM former_claims f WHERE f.app_number = $1::numeric AND f.ctid = ANY(ARRAY(
    SELECT c.ctid FROM former_claims c WHERE c.app_number = $2 AND c.environment = $3::apns_environment AND c.activity_id = ANY($4)
    LIMIT $5
));

-- sweep, 11: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 text, $6 text[], $7 bigint, $8 bigint, $9 text, $10 text[], $11 bigint, $12 text, $13 bigint, $14 text
WITH page AS MATERIALIZED (
    SELECT v.token_digest FROM activities a CROSS JOIN LATERAL (
        SELECT own.token_digest FROM token_values own
        WHERE own.app_number = $1 AND own.environment = $2::apns_environment AND own.activity_number = a.activity_number
        LIMIT $3
    ) AS v
    WHERE a.app_number = $4 AND a.environment = $5::apns_environment AND a.activity_id = ANY($6) LIMIT $7
), theirs AS MATERIALIZED (
    SELECT v.token_digest, v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL AS is_installations
    FROM token_values v
    WHERE v.app_number = $8 AND v.environment = $9::apns_environment AND v.token_digest = ANY(ARRAY(SELECT page.token_digest FROM page))
        AND v.activity_id = ANY($10)
    ORDER BY v.token_digest FOR UPDATE
), released AS (
    UPDATE token_values t SET activity_id = NULL, activity_number = NULL, observed_at = NULL,
        displaced_activity_id = NULL, displaced_observed_at = NULL, touched_at = now()
    WHERE t.app_number = $11 AND t.environment = $12::apns_environment
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_installations))
), deleted AS (
    DELETE FROM token_values t WHERE t.app_number = $13 AND t.environment = $14::apns_environment
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_installations))
)
SELECT count(*) FROM page;

-- sweep, 12: $1 bigint, $2 bigint, $3 text, $4 text[], $5 bigint, $6 text
DELETE FROM activity_aliases al WHERE al.app_number = $1::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row FROM (SELECT m.* FROM activities m WHERE m.app_number = $2 AND m.environment = $3::apns_environment AND m.activity_id = ANY($4)) AS a CROSS JOIN LATERAL jsonb_each(a.aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM activity_aliases r
        WHERE r.app_number = $5 AND r.environment = $6::apns_environment AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
            AND r.activity_number = a.activity_number
        LIMIT 1
    ) AS found
    WHERE true
));

-- sweep, 13: $1 bigint, $2 text, $3 text[]
DELETE FROM activities a WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = ANY($3);
