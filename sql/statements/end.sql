-- end, 1: $1 bigint, $2 text, $3 bigint, $4 timestamp with time zone, $5 text[], $6 timestamp with time zone, $7 bigint, $8 bigint, $9 interval, $10 bigint
INSERT INTO activities AS stored (
    scope_id, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
)
WITH given (
    scope_id, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
) AS MATERIALIZED (
SELECT $1, e.activity_id, now(), app.activity_lifetime, now() + app.activity_lifetime, e.ended_at,
    $2::end_reason, 'ended'::activity_outcome, now(),
    $3, NULL::bytea, NULL::timestamptz, NULL::text, NULL::timestamptz
FROM apps app CROSS JOIN (SELECT q.activity_id, coalesce($4, clock_timestamp()) AS ended_at FROM unnest($5) AS q (activity_id)
WHERE coalesce($6 <= now() + interval '5 minutes', true)) AS e
WHERE app.app_id = $7 AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $8 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $9, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $10
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE
ORDER BY e.activity_id COLLATE "C"
)
SELECT * FROM given
ON CONFLICT (scope_id, activity_id) DO UPDATE SET
    token = NULL,
    ended_at = least(stored.ended_at, excluded.ended_at),
    end_reason = CASE WHEN stored.ended_at IS NULL
        OR (excluded.ended_at, excluded.end_reason) < (stored.ended_at, stored.end_reason)
        THEN excluded.end_reason ELSE stored.end_reason END,
    outcome = CASE WHEN stored.ended_at IS NULL THEN 'ended'::activity_outcome ELSE 'refused' END,
    revision = stored.revision + CASE WHEN stored.ended_at IS NULL THEN 1 ELSE 0 END,
    installation_hash = CASE WHEN excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) THEN excluded.installation_hash ELSE stored.installation_hash END,
installation_observed_at = CASE WHEN excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) THEN excluded.installation_observed_at ELSE stored.installation_observed_at END,
    subject = CASE WHEN excluded.subject IS NOT NULL AND (stored.subject IS NULL
OR (excluded.subject_observed_at, excluded.subject) < (stored.subject_observed_at, stored.subject)) THEN excluded.subject ELSE stored.subject END,
subject_observed_at = CASE WHEN excluded.subject IS NOT NULL AND (stored.subject IS NULL
OR (excluded.subject_observed_at, excluded.subject) < (stored.subject_observed_at, stored.subject)) THEN excluded.subject_observed_at ELSE stored.subject_observed_at END,
    touched_at = excluded.touched_at, batch_number = excluded.batch_number
WHERE true
RETURNING stored.activity_id, stored.outcome::text, stored.expires_at > now();

-- end, 2: $1 bigint, $2 bigint, $3 text[], $4 bigint
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

-- end, 3: $1 bigint, $2 interval, $3 text, $4 bigint, $5 text[], $6 bigint
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
FROM (SELECT given.*, $3::text AS who FROM (SELECT 'ended' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM activities a
WHERE a.scope_id = $4
    AND a.activity_id = ANY($5) AND a.outcome = 'ended'
    AND a.batch_number = $6) AS given) AS e
)
SELECT * FROM given;

-- end, 4: $1 bigint, $2 text[], $3 bigint, $4 bigint, $5 interval, $6 bigint
SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_id = $1),
    '{}'::text[], ARRAY(SELECT e.activity_id FROM apps app CROSS JOIN unnest($2) AS e (activity_id)
    WHERE app.app_id = $3 AND (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $4 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $5, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $6
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE), false;

-- end, 5: $1 bigint, $2 text, $3 bigint, $4 bigint, $5 bigint, $6 text, $7 text, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 interval, $13 bigint
INSERT INTO activities AS stored (
    scope_id, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
)
WITH given (
    scope_id, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
) AS MATERIALIZED (
SELECT $1, e.activity_id, now(), app.activity_lifetime, now() + app.activity_lifetime, e.ended_at,
    $2::end_reason, 'ended'::activity_outcome, now(),
    $3, NULL::bytea, NULL::timestamptz, NULL::text, NULL::timestamptz
FROM apps app CROSS JOIN (SELECT a.activity_id, clock_timestamp() AS ended_at
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT bearer.activity_id FROM activities bearer
    WHERE bearer.scope_id = $4 AND bearer.activity_key = al.activity_key
        AND bearer.activity_key > 0 LIMIT 1
) AS a
WHERE al.scope_id = $5
    AND al.kind = $6 AND al.value = $7 AND NOT al.ended
    AND al.activity_key > $8 AND al.activity_key <= $9) AS e
WHERE app.app_id = $10 AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $11 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $12, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $13
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE
ORDER BY e.activity_id COLLATE "C"
)
SELECT * FROM given
ON CONFLICT (scope_id, activity_id) DO UPDATE SET
    token = NULL,
    ended_at = least(stored.ended_at, excluded.ended_at),
    end_reason = CASE WHEN stored.ended_at IS NULL
        OR (excluded.ended_at, excluded.end_reason) < (stored.ended_at, stored.end_reason)
        THEN excluded.end_reason ELSE stored.end_reason END,
    outcome = CASE WHEN stored.ended_at IS NULL THEN 'ended'::activity_outcome ELSE 'refused' END,
    revision = stored.revision + CASE WHEN stored.ended_at IS NULL THEN 1 ELSE 0 END,
    installation_hash = CASE WHEN excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) THEN excluded.installation_hash ELSE stored.installation_hash END,
installation_observed_at = CASE WHEN excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) THEN excluded.installation_observed_at ELSE stored.installation_observed_at END,
    subject = CASE WHEN excluded.subject IS NOT NULL AND (stored.subject IS NULL
OR (excluded.subject_observed_at, excluded.subject) < (stored.subject_observed_at, stored.subject)) THEN excluded.subject ELSE stored.subject END,
subject_observed_at = CASE WHEN excluded.subject IS NOT NULL AND (stored.subject IS NULL
OR (excluded.subject_observed_at, excluded.subject) < (stored.subject_observed_at, stored.subject)) THEN excluded.subject_observed_at ELSE stored.subject_observed_at END,
    touched_at = excluded.touched_at, batch_number = excluded.batch_number
WHERE true
RETURNING stored.activity_id, stored.outcome::text, stored.expires_at > now();

-- end, 6: $1 bigint, $2 bigint, $3 text, $4 text
UPDATE activities a SET touched_at = now()
WHERE a.scope_id = $1 AND a.activity_key > 0 AND a.activity_key = (
    SELECT al.activity_key FROM activity_aliases al
    WHERE al.scope_id = $2 AND al.kind = $3 AND al.value = $4 AND al.ended
    ORDER BY al.activity_key DESC LIMIT 1
);
