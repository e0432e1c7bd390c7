-- installation, 1: the same as device token, 1

-- installation, 2: $1 bigint, $2 bytea, $3 bigint, $4 timestamp with time zone, $5 text, $6 boolean, $7 timestamp with time zone, $8 bigint, $9 timestamp with time zone, $10 bigint, $11 text[], $12 timestamp with time zone
INSERT INTO installations AS stored (
    scope_id, installation_hash, request_number, request_observed_at, subject, subject_observed_at
)
SELECT $1, $2, $3, $4, $5,
    CASE WHEN $6 THEN coalesce($7, clock_timestamp()) END
FROM apps app
WHERE app.app_id = $8 AND coalesce($9 <= now() + interval '5 minutes', true)
    AND NOT (EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $10 AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($11) AS named (name)))
        AND erased.erased_at >= coalesce($12, now())
)) IS TRUE
ON CONFLICT (scope_id, installation_hash) DO UPDATE SET
    touched_at = excluded.touched_at, request_number = excluded.request_number,
    request_observed_at = excluded.request_observed_at,
    subject = CASE WHEN excluded.subject IS NOT NULL AND NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND (stored.subject IS NULL OR (excluded.subject_observed_at, excluded.subject COLLATE "C")
> (coalesce(stored.subject_observed_at, '-infinity'), stored.subject COLLATE "C"))
THEN excluded.subject ELSE stored.subject END,
subject_observed_at = CASE WHEN coalesce(excluded.subject_observed_at <= stored.removed_at, false) THEN stored.subject_observed_at
ELSE greatest(stored.subject_observed_at, excluded.subject_observed_at) END,
taken_over_at = CASE WHEN coalesce(NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND excluded.subject <> stored.subject, false)
THEN greatest(stored.taken_over_at, excluded.subject_observed_at) ELSE stored.taken_over_at END,
aliases = CASE WHEN coalesce(NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND excluded.subject <> stored.subject, false) AND stored.aliases_observed_at <= excluded.subject_observed_at THEN NULL ELSE stored.aliases END,
aliases_observed_at = CASE WHEN coalesce(NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND excluded.subject <> stored.subject, false) AND stored.aliases_observed_at <= excluded.subject_observed_at THEN NULL ELSE stored.aliases_observed_at END,
displaced_aliases = CASE WHEN coalesce(NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND excluded.subject <> stored.subject, false) AND stored.aliases_observed_at <= excluded.subject_observed_at THEN stored.aliases END,
changed = coalesce(NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND excluded.subject <> stored.subject, false) AND ((stored.subject IS NULL OR (excluded.subject_observed_at, excluded.subject COLLATE "C")
> (coalesce(stored.subject_observed_at, '-infinity'), stored.subject COLLATE "C"))
OR coalesce(coalesce(NOT coalesce(excluded.subject_observed_at <= stored.removed_at, false) AND excluded.subject <> stored.subject, false) AND stored.aliases_observed_at <= excluded.subject_observed_at, false) AND stored.aliases IS NOT NULL)
RETURNING stored.xmax = 0;

-- installation, 3: $1 timestamp with time zone, $2 jsonb, $3 jsonb, $4 text, $5 bigint, $6 bytea, $7 bigint, $8 bytea, $9 bigint
UPDATE installations i SET
    aliases = CASE WHEN (r.aliases IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.aliases IS NULL
    OR (r.given_at, r.aliases) > (i.aliases_observed_at, i.aliases))) THEN r.aliases ELSE i.aliases END,
    aliases_observed_at = CASE WHEN (r.aliases IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.aliases IS NULL
    OR (r.given_at, r.aliases) > (i.aliases_observed_at, i.aliases))) THEN r.given_at ELSE i.aliases_observed_at END,
    displaced_aliases = CASE WHEN (r.aliases IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.aliases IS NULL
    OR (r.given_at, r.aliases) > (i.aliases_observed_at, i.aliases))) THEN i.aliases END,
    metadata = CASE WHEN (r.metadata IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.metadata IS NULL
    OR (r.given_at, r.metadata) > (i.metadata_observed_at, i.metadata))) THEN r.metadata ELSE i.metadata END,
    metadata_observed_at = CASE WHEN (r.metadata IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.metadata IS NULL
    OR (r.given_at, r.metadata) > (i.metadata_observed_at, i.metadata))) THEN r.given_at ELSE i.metadata_observed_at END,
    changed = i.changed OR coalesce(((r.aliases IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.aliases IS NULL
    OR (r.given_at, r.aliases) > (i.aliases_observed_at, i.aliases))) AND i.aliases IS DISTINCT FROM r.aliases)
        OR ((r.metadata IS NOT NULL AND r.given_at > coalesce(i.removed_at, '-infinity')
    AND r.given_at >= coalesce(i.taken_over_at, '-infinity')
    AND coalesce(i.subject = r.subject, true) AND (i.metadata IS NULL
    OR (r.given_at, r.metadata) > (i.metadata_observed_at, i.metadata))) AND i.metadata IS DISTINCT FROM r.metadata), false)
FROM (
    SELECT coalesce($1, statement_timestamp()) AS given_at, $2::jsonb AS aliases,
        $3::jsonb AS metadata, $4::text AS subject
    OFFSET 0
) AS r
WHERE i.scope_id = $5 AND i.installation_hash = $6 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $7 AND held.installation_hash = $8 AND held.request_number = $9)
RETURNING r.given_at, i.aliases_observed_at, i.metadata_observed_at, i.removed_at, coalesce(i.subject <> r.subject, false), i.touched_at;

-- installation, 4: $1 bigint, $2 bytea
SELECT i.installation_hash, i.touched_at, i.subject, i.aliases, i.aliases_observed_at, i.metadata, i.metadata_observed_at, i.full_state_at, i.removed_at FROM installations i WHERE i.scope_id = $1 AND i.installation_hash = $2;

-- installation, 5: $1 bigint, $2 bigint, $3 bigint, $4 bytea
SELECT r.kind, nullif(r.attributes_type, ''), substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at, r.verdict
FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.scope_id = $1 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $2 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) r WHERE r.scope_id = $3 AND r.installation_hash = $4 AND r.token IS NOT NULL
ORDER BY r.kind, r.attributes_type;

-- installation, 6: $1 bigint, $2 bytea, $3 bigint, $4 bytea, $5 bigint, $6 bytea, $7 bigint
DELETE FROM installation_aliases al USING installations i
WHERE i.scope_id = $1 AND i.installation_hash = $2 AND al.scope_id = $3 AND al.installation_hash = $4 AND NOT coalesce(i.aliases -> al.kind ? al.value, false)
    AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $5 AND held.installation_hash = $6 AND held.request_number = $7);

-- installation, 7: $1 bigint, $2 bytea, $3 bigint, $4 bytea, $5 bigint
INSERT INTO installation_aliases (scope_id, kind, value, installation_hash)
SELECT i.scope_id, kinds.key, alias_values.value, i.installation_hash
FROM installations i CROSS JOIN LATERAL jsonb_each(i.aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values
WHERE i.scope_id = $1 AND i.installation_hash = $2 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $3 AND held.installation_hash = $4 AND held.request_number = $5)
ON CONFLICT DO NOTHING;

-- installation, 8: $1 bigint, $2 bigint, $3 bytea, $4 text, $5 bigint, $6 bigint, $7 text[], $8 timestamp with time zone
SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_id = $1),
    ARRAY(SELECT 'installation' FROM installations i
WHERE i.scope_id = $2 AND i.installation_hash = $3 AND NOT coalesce(i.subject = $4::text, true)), ARRAY(SELECT 'installation' FROM apps app
    WHERE app.app_id = $5 AND (EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $6 AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($7) AS named (name)))
        AND erased.erased_at >= coalesce($8, now())
)) IS TRUE), false;

-- installation, 9: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bytea, $6 bigint, $7 bytea, $8 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'installation-changed' AS type, NULL::text AS activity_id, i.installation_hash, i.subject, all_aliases(i.aliases, i.displaced_aliases) AS aliases,
NULL::bytea AS token_digest, NULL::text AS token_kind, NULL::text AS attributes_type
FROM installations i WHERE i.scope_id = $4 AND i.installation_hash = $5 AND i.changed AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $6 AND held.installation_hash = $7 AND held.request_number = $8)) AS given) AS e
)
SELECT * FROM given;

-- installation, 10: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 bytea, $7 bigint, $8 bytea, $9 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT CASE WHEN i.subject = $4::text THEN 'taken-over' ELSE 'installation-changed' END AS type, NULL::text AS activity_id, i.installation_hash, i.subject, all_aliases(i.aliases, i.displaced_aliases) AS aliases,
NULL::bytea AS token_digest, NULL::text AS token_kind, NULL::text AS attributes_type
FROM installations i WHERE i.scope_id = $5 AND i.installation_hash = $6 AND i.changed AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $7 AND held.installation_hash = $8 AND held.request_number = $9)) AS given) AS e
)
SELECT * FROM given;

-- installation, 11: $1 bigint, $2 bytea, $3 bigint, $4 bytea, $5 text, $6 bigint, $7 bytea, $8 bigint
DELETE FROM start_leases l WHERE l.scope_id = $1 AND l.installation_hash = $2
    AND EXISTS (SELECT FROM installations i WHERE i.scope_id = $3 AND i.installation_hash = $4 AND i.changed AND i.subject = $5::text AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $6 AND held.installation_hash = $7 AND held.request_number = $8));
