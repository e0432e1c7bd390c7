-- end, 1: $1 text, $2 text, $3 bigint, $4 timestamp with time zone, $5 text[], $6 timestamp with time zone, $7 bigint, $8 bigint, $9 text, $10 interval, $11 bigint, $12 text
INSERT INTO activities AS stored (
    app_number, environment, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
)
WITH given (
    app_number, environment, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
) AS MATERIALIZED (
SELECT app.app_number, $1::apns_environment, e.activity_id, now(), app.activity_lifetime,
    now() + app.activity_lifetime, e.ended_at, $2::end_reason, 'ended'::activity_outcome, now(),
    $3, NULL::bytea, NULL::timestamptz, NULL::text, NULL::timestamptz
FROM apps app CROSS JOIN (SELECT q.activity_id, coalesce($4, clock_timestamp()) AS ended_at FROM unnest($5) AS q (activity_id)
WHERE coalesce($6 <= now() + interval '5 minutes', true)) AS e
WHERE app.app_number = $7 AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.app_number = $8 AND recent.environment = $9::apns_environment AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $10, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.app_number = $11 AND erased.environment = $12::apns_environment
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE
ORDER BY e.activity_id COLLATE "C"
)
SELECT * FROM given
ON CONFLICT (app_number, environment, activity_id) DO UPDATE SET
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

-- end, 2: $1 bigint, $2 bigint, $3 text, $4 text[], $5 bigint, $6 text
UPDATE activity_aliases al SET ended = true WHERE al.app_number = $1::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row FROM (SELECT m.* FROM activities m WHERE m.app_number = $2 AND m.environment = $3::apns_environment AND m.activity_id = ANY($4)) AS a CROSS JOIN LATERAL jsonb_each(a.aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM activity_aliases r
        WHERE r.app_number = $5 AND r.environment = $6::apns_environment AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (false)
            AND r.activity_number = a.activity_number
        LIMIT 1
    ) AS found
    WHERE (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
));

-- end, 3: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 text[], $8 bigint
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
FROM (SELECT given.*, $4::text AS who FROM (SELECT 'ended' AS type, a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM activities a
WHERE a.app_number = $5 AND a.environment = $6::apns_environment
    AND a.activity_id = ANY($7) AND a.outcome = 'ended'
    AND a.batch_number = $8) AS given) AS e
)
SELECT * FROM given;

-- end, 4: $1 bigint, $2 text[], $3 bigint, $4 bigint, $5 text, $6 interval, $7 bigint, $8 text
SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_number = $1),
    '{}'::text[], ARRAY(SELECT e.activity_id FROM apps app CROSS JOIN unnest($2) AS e (activity_id)
    WHERE app.app_number = $3 AND (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.app_number = $4 AND recent.environment = $5::apns_environment AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $6, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.app_number = $7 AND erased.environment = $8::apns_environment
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE), false;

-- end, 5: $1 text, $2 text, $3 bigint, $4 bigint, $5 bigint, $6 text, $7 text, $8 text, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 text, $14 interval, $15 bigint, $16 text
INSERT INTO activities AS stored (
    app_number, environment, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
)
WITH given (
    app_number, environment, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
) AS MATERIALIZED (
SELECT app.app_number, $1::apns_environment, e.activity_id, now(), app.activity_lifetime,
    now() + app.activity_lifetime, e.ended_at, $2::end_reason, 'ended'::activity_outcome, now(),
    $3, NULL::bytea, NULL::timestamptz, NULL::text, NULL::timestamptz
FROM apps app CROSS JOIN (SELECT a.activity_id, clock_timestamp() AS ended_at
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT bearer.activity_id FROM activities bearer
    WHERE bearer.app_number = $4 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1
) AS a
WHERE al.app_number = $5 AND al.environment = $6::apns_environment
    AND al.kind = $7 AND al.value = $8 AND NOT al.ended
    AND al.activity_number > $9 AND al.activity_number <= $10) AS e
WHERE app.app_number = $11 AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.app_number = $12 AND recent.environment = $13::apns_environment AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $14, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.app_number = $15 AND erased.environment = $16::apns_environment
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || e.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE
ORDER BY e.activity_id COLLATE "C"
)
SELECT * FROM given
ON CONFLICT (app_number, environment, activity_id) DO UPDATE SET
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

-- end, 6: $1 bigint, $2 text, $3 bigint, $4 text, $5 text, $6 text
UPDATE activities a SET touched_at = now()
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_number > 0 AND a.activity_number = (
    SELECT al.activity_number FROM activity_aliases al
    WHERE al.app_number = $3 AND al.environment = $4::apns_environment AND al.kind = $5 AND al.value = $6 AND al.ended
    ORDER BY al.activity_number DESC LIMIT 1
);
