-- registration, 1: $1 bigint, $2 text[], $3 timestamp with time zone[], $4 bigint, $5 bigint, $6 interval, $7 bigint
INSERT INTO activities (
    scope_id, activity_id, started_at, lifetime, expires_at, outcome, created_at
)
WITH given (
    scope_id, activity_id, started_at, lifetime, expires_at, outcome, created_at
) AS MATERIALIZED (
SELECT $1, q.activity_id, now(), app.activity_lifetime,
    now() + app.activity_lifetime, 'observed'::activity_outcome, now()
FROM apps app CROSS JOIN unnest($2, $3) AS q (activity_id, observed_at)
WHERE app.app_id = $4 AND q.observed_at IS NULL AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $5 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $6, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $7
        AND erased.erased_digest = ANY(ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || q.activity_id, 'UTF8'))])
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || q.activity_id, 'UTF8')) OR erased.erased_at >= 'infinity')
)) IS TRUE
ORDER BY q.activity_id COLLATE "C"
)
SELECT * FROM given
ON CONFLICT (scope_id, activity_id) DO NOTHING;

-- registration, 2: $1 bigint, $2 text[], $3 text[], $4 bytea[], $5 bigint, $6 text[]
SELECT FROM activities a
WHERE a.scope_id = $1
    AND a.activity_id = ANY(coalesce((SELECT $2::text[] || array_agg(t.activity_id)
FROM unnest($3, $4) AS q (activity_id, token_digest) CROSS JOIN LATERAL (
    SELECT v.activity_id FROM token_values v
    WHERE v.scope_id = $5
        AND v.token_digest = q.token_digest AND v.activity_id <> q.activity_id
    LIMIT 1
) AS t
HAVING count(*) > 0)::text[], $6))
ORDER BY a.activity_id FOR UPDATE;

-- registration, 3: $1 bigint, $2 bigint, $3 bigint, $4 text[], $5 bytea[], $6 bytea[], $7 timestamp with time zone[], $8 timestamp with time zone[], $9 bytea[], $10 text[], $11 jsonb[], $12 timestamp with time zone[], $13 jsonb[], $14 text[], $15 boolean[], $16 bigint, $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 bigint, $22 interval, $23 bigint
INSERT INTO activities AS stored (
    scope_id, activity_id, token, token_digest, token_observed_at, token_claimed_at,
last_observed_at, started_at, starts_at, starts_at_observed_at, lifetime, expires_at, confirmed_at,
installation_hash, installation_observed_at, subject, subject_observed_at,
attributes_type, attributes_type_observed_at, frequent_pushes_enabled, frequent_pushes_enabled_observed_at,
aliases, aliases_observed_at, aliases_changed, metadata, metadata_observed_at, outcome, created_at, touched_at,
batch_number, installation_full_state_at, installation_removed_at
)
SELECT $1, r.activity_id, r.token, r.token_digest,
    CASE WHEN r.token IS NOT NULL THEN r.claimed_at END,
    CASE WHEN r.ends_quarantine THEN r.received_at
        WHEN r.token IS NOT NULL THEN least(r.claimed_at, r.received_at) END, r.claimed_at,
    r.said_started_at, r.scheduled_at, CASE WHEN r.scheduled_at IS NOT NULL THEN r.given_at END,
    app.activity_lifetime, greatest(r.said_started_at, r.scheduled_at) + app.activity_lifetime,
    CASE WHEN r.token IS NOT NULL THEN r.received_at END,
    r.installation_hash, CASE WHEN r.installation_hash IS NOT NULL THEN r.given_at END,
    r.subject, CASE WHEN r.subject IS NOT NULL THEN r.given_at END,
    r.attributes_type, CASE WHEN r.attributes_type IS NOT NULL THEN r.given_at END, r.frequent_pushes_enabled, CASE WHEN r.frequent_pushes_enabled IS NOT NULL THEN r.given_at END,
    r.aliases, CASE WHEN r.aliases IS NOT NULL THEN coalesce(r.aliases_given_at, r.given_at) END,
    r.aliases IS NOT NULL,
    r.metadata, CASE WHEN r.metadata IS NOT NULL THEN r.given_at END,
    CASE WHEN greatest(r.said_started_at, r.scheduled_at) + app.activity_lifetime <= now()
        THEN 'expired'::activity_outcome ELSE 'registered' END,
    r.received_at, now(), $2, r.installation_full_state_at, r.installation_removed_at
FROM apps app CROSS JOIN LATERAL (SELECT q.*, clock.received_at, CASE WHEN q.observed_at IS NOT NULL THEN q.observed_at
WHEN known.token_digest = q.token_digest THEN known.token_observed_at
ELSE coalesce(retired.observed_at, clock.received_at) END AS claimed_at,
q.observed_at IS NULL AND known.token_digest = q.token_digest
AND EXISTS (SELECT FROM token_values held WHERE held.scope_id = $3
AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.token_claimed_at AND coalesce(held.dead_at < known.token_claimed_at, true))
AS ends_quarantine,
CASE WHEN q.observed_at IS NOT NULL THEN q.observed_at
WHEN known.token_digest <> q.token_digest THEN coalesce(retired.observed_at, clock.received_at)
ELSE clock.received_at END AS given_at,
    its.full_state_at AS installation_full_state_at, its.removed_at AS installation_removed_at,
    NULL::timestamptz AS scheduled_at,
    least(coalesce(q.started_at, q.observed_at, clock.received_at), clock.received_at) AS said_started_at
FROM unnest($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS q (activity_id, token, token_digest, observed_at, started_at, installation_hash, subject, aliases, aliases_given_at, metadata, attributes_type, frequent_pushes_enabled)
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE q.activity_id IS NOT NULL) AS clock
LEFT JOIN LATERAL (
    SELECT k.installation_hash, k.token_digest, k.token_observed_at, k.token_claimed_at FROM activities k
    WHERE k.scope_id = $16 AND k.activity_id = q.activity_id
    LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
    SELECT i.full_state_at, i.removed_at FROM installations i
    WHERE i.scope_id = $17
        AND i.installation_hash = coalesce(known.installation_hash, q.installation_hash)
    LIMIT 1
) AS its ON true
CROSS JOIN LATERAL (
    SELECT max(claims.observed_at) AS observed_at FROM (
        SELECT v.observed_at FROM token_values v
        WHERE q.observed_at IS NULL AND v.scope_id = $18 AND v.token_digest = q.token_digest
            AND v.activity_id = q.activity_id
        UNION ALL
        SELECT f.observed_at FROM former_claims f
        WHERE q.observed_at IS NULL AND f.scope_id = $19 AND f.activity_id = q.activity_id
            AND f.token_digest = q.token_digest
    ) AS claims
) AS retired) AS r
WHERE app.app_id = $20 AND (r.observed_at IS NULL OR r.observed_at <= now() + interval '5 minutes')
    AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $21 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $22, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $23
        AND erased.erased_digest = ANY((ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('installation:' || encode(r.installation_hash, 'hex'), 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('subject:' || r.subject, 'UTF8'))] || ARRAY(
SELECT sha256(uuid_send(app.erasure_salt) || convert_to('alias:' || kinds.key || ':' || alias_values.value, 'UTF8'))
FROM jsonb_each(r.aliases) AS kinds CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values)))
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')) OR erased.erased_at >= r.claimed_at)
)) IS TRUE
ORDER BY r.activity_id COLLATE "C"
ON CONFLICT (scope_id, activity_id) DO UPDATE SET token = CASE WHEN stored.ended_at IS NOT NULL THEN NULL
WHEN stored.expiry_recorded_at IS NOT NULL AND ((greatest(least(stored.started_at, excluded.started_at), stored.starts_at) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') <= excluded.touched_at THEN NULL
WHEN (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) OR (stored.token IS NULL AND NOT (excluded.token_digest <> stored.token_digest)) THEN excluded.token ELSE stored.token END,
token_digest = CASE WHEN (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) THEN excluded.token_digest ELSE stored.token_digest END,
token_observed_at = CASE WHEN (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) THEN excluded.token_observed_at ELSE stored.token_observed_at END,
token_claimed_at = CASE WHEN excluded.token_digest = stored.token_digest
THEN greatest(stored.token_claimed_at, excluded.token_claimed_at)
WHEN (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) THEN excluded.token_claimed_at ELSE stored.token_claimed_at END,
previous_claimed_at = CASE WHEN excluded.token_digest = stored.token_digest THEN stored.token_claimed_at END,
token_is_doubted = (stored.token_is_doubted OR false) AND NOT coalesce((excluded.token_digest <> stored.token_digest) AND (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))), false),
confirmed_at = CASE WHEN stored.ended_at IS NULL
AND ((excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) OR excluded.token_digest = stored.token_digest)
THEN greatest(stored.confirmed_at, excluded.confirmed_at) ELSE stored.confirmed_at END,
last_observed_at = greatest(stored.last_observed_at, excluded.last_observed_at),
started_at = least(stored.started_at, excluded.started_at),
expires_at = ((greatest(least(stored.started_at, excluded.started_at), stored.starts_at) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0'),
expiry_recorded_at = CASE WHEN ((greatest(least(stored.started_at, excluded.started_at), stored.starts_at) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') <= excluded.touched_at THEN stored.expiry_recorded_at END,
installation_hash = CASE WHEN excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) THEN excluded.installation_hash ELSE stored.installation_hash END,
installation_observed_at = CASE WHEN excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) THEN excluded.installation_observed_at ELSE stored.installation_observed_at END,
subject = CASE WHEN excluded.subject IS NOT NULL AND (stored.subject IS NULL
OR (excluded.subject_observed_at, excluded.subject) < (stored.subject_observed_at, stored.subject)) THEN excluded.subject ELSE stored.subject END,
subject_observed_at = CASE WHEN excluded.subject IS NOT NULL AND (stored.subject IS NULL
OR (excluded.subject_observed_at, excluded.subject) < (stored.subject_observed_at, stored.subject)) THEN excluded.subject_observed_at ELSE stored.subject_observed_at END,
attributes_type = CASE WHEN excluded.attributes_type IS NOT NULL AND (stored.attributes_type IS NULL
OR (excluded.attributes_type_observed_at, excluded.attributes_type) < (stored.attributes_type_observed_at, stored.attributes_type)) THEN excluded.attributes_type ELSE stored.attributes_type END,
attributes_type_observed_at = CASE WHEN excluded.attributes_type IS NOT NULL AND (stored.attributes_type IS NULL
OR (excluded.attributes_type_observed_at, excluded.attributes_type) < (stored.attributes_type_observed_at, stored.attributes_type)) THEN excluded.attributes_type_observed_at ELSE stored.attributes_type_observed_at END,
frequent_pushes_enabled = CASE WHEN excluded.frequent_pushes_enabled IS NOT NULL AND (stored.frequent_pushes_enabled IS NULL
OR (excluded.frequent_pushes_enabled_observed_at, excluded.frequent_pushes_enabled) < (stored.frequent_pushes_enabled_observed_at, stored.frequent_pushes_enabled)) THEN excluded.frequent_pushes_enabled ELSE stored.frequent_pushes_enabled END,
frequent_pushes_enabled_observed_at = CASE WHEN excluded.frequent_pushes_enabled IS NOT NULL AND (stored.frequent_pushes_enabled IS NULL
OR (excluded.frequent_pushes_enabled_observed_at, excluded.frequent_pushes_enabled) < (stored.frequent_pushes_enabled_observed_at, stored.frequent_pushes_enabled)) THEN excluded.frequent_pushes_enabled_observed_at ELSE stored.frequent_pushes_enabled_observed_at END,
metadata = CASE WHEN excluded.metadata IS NOT NULL AND (stored.metadata IS NULL
OR (excluded.metadata_observed_at, excluded.metadata) > (stored.metadata_observed_at, stored.metadata)) THEN excluded.metadata ELSE stored.metadata END,
metadata_observed_at = CASE WHEN excluded.metadata IS NOT NULL AND (stored.metadata IS NULL
OR (excluded.metadata_observed_at, excluded.metadata) > (stored.metadata_observed_at, stored.metadata)) THEN excluded.metadata_observed_at ELSE stored.metadata_observed_at END,
aliases = CASE WHEN excluded.aliases IS NOT NULL AND (stored.aliases IS NULL
OR (excluded.aliases_observed_at, excluded.aliases) > (stored.aliases_observed_at, stored.aliases)) THEN excluded.aliases ELSE stored.aliases END,
aliases_observed_at = CASE WHEN excluded.aliases IS NOT NULL AND (stored.aliases IS NULL
OR (excluded.aliases_observed_at, excluded.aliases) > (stored.aliases_observed_at, stored.aliases)) THEN excluded.aliases_observed_at ELSE stored.aliases_observed_at END,
aliases_changed = (excluded.aliases IS NOT NULL AND excluded.aliases IS DISTINCT FROM stored.aliases AND (stored.aliases IS NULL
OR (excluded.aliases_observed_at, excluded.aliases) > (stored.aliases_observed_at, stored.aliases))),
displaced_aliases = CASE WHEN (excluded.aliases IS NOT NULL AND excluded.aliases IS DISTINCT FROM stored.aliases AND (stored.aliases IS NULL
OR (excluded.aliases_observed_at, excluded.aliases) > (stored.aliases_observed_at, stored.aliases))) THEN stored.aliases END,
revision = stored.revision + CASE WHEN ((excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) AND stored.token_digest IS DISTINCT FROM excluded.token_digest)
OR excluded.started_at < stored.started_at
OR (stored.attributes_type IS NULL AND excluded.attributes_type IS NOT NULL)
OR (stored.frequent_pushes_enabled IS NULL AND excluded.frequent_pushes_enabled IS NOT NULL)
OR coalesce(stored.installation_hash IS NOT NULL AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) > stored.last_observed_at
AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) <= excluded.last_observed_at, false) THEN 1 ELSE 0 END,
outcome = CASE WHEN stored.ended_at IS NOT NULL THEN 'refused'::activity_outcome
WHEN ((greatest(least(stored.started_at, excluded.started_at), stored.starts_at) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') <= excluded.touched_at THEN 'expired'
WHEN excluded.token_digest IS NOT NULL AND stored.token_digest IS NULL THEN 'registered'
WHEN (excluded.token_digest <> stored.token_digest) THEN CASE WHEN (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) THEN 'rotated'::activity_outcome ELSE 'superseded' END
WHEN coalesce(stored.installation_hash IS NOT NULL AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) > stored.last_observed_at
AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) <= excluded.last_observed_at, false) OR false THEN 'reactivated'
WHEN excluded.token_digest IS NULL THEN 'observed' ELSE 'refreshed' END,
facts_changed = coalesce(excluded.started_at < stored.started_at
OR (excluded.installation_hash IS NOT NULL AND (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash) < (stored.installation_observed_at, stored.installation_hash)) AND excluded.installation_hash IS DISTINCT FROM stored.installation_hash)
OR (excluded.attributes_type IS NOT NULL AND (stored.attributes_type IS NULL
OR (excluded.attributes_type_observed_at, excluded.attributes_type) < (stored.attributes_type_observed_at, stored.attributes_type)) AND excluded.attributes_type IS DISTINCT FROM stored.attributes_type)
OR (excluded.frequent_pushes_enabled IS NOT NULL AND (stored.frequent_pushes_enabled IS NULL
OR (excluded.frequent_pushes_enabled_observed_at, excluded.frequent_pushes_enabled) < (stored.frequent_pushes_enabled_observed_at, stored.frequent_pushes_enabled)) AND excluded.frequent_pushes_enabled IS DISTINCT FROM stored.frequent_pushes_enabled), false),
touched_at = excluded.touched_at, batch_number = excluded.batch_number,
installation_full_state_at = greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END),
installation_removed_at = excluded.installation_removed_at

RETURNING stored.outcome::text, stored.token_digest, stored.activity_id, stored.end_reason::text, coalesce(stored.ended_at, CASE WHEN stored.installation_removed_at >= stored.started_at THEN stored.installation_removed_at END), coalesce(stored.token_observed_at, stored.last_observed_at),
stored.confirmed_at, stored.expires_at, stored.revision, activity_state(stored.ended_at, stored.started_at, stored.expires_at, stored.last_observed_at,
stored.installation_removed_at, stored.installation_full_state_at), now(), stored.expires_at > now(),
stored.token_claimed_at, stored.previous_claimed_at;

-- registration, 4: $1 text[], $2 bytea[], $3 timestamp with time zone[], $4 bigint, $5 bigint
INSERT INTO token_values AS stored (
    scope_id, token_digest, activity_id, activity_key, observed_at, is_newly_owned
)
SELECT a.scope_id, q.token_digest, a.activity_id, a.activity_key,
    coalesce(q.observed_at, a.token_observed_at), true
FROM unnest($1, $2, $3) AS q (activity_id, token_digest, observed_at) CROSS JOIN LATERAL (
    SELECT m.scope_id, m.activity_id, m.activity_key, m.token_digest, m.token_observed_at
    FROM activities m
    WHERE m.scope_id = $4
        AND m.activity_id = q.activity_id AND m.batch_number = $5
    LIMIT 1
) AS a
WHERE q.token_digest IS NOT NULL AND (q.observed_at IS NOT NULL OR a.token_digest = q.token_digest)
ORDER BY 2
ON CONFLICT (scope_id, token_digest) DO UPDATE SET
    activity_id = CASE WHEN (stored.activity_id IS NULL
OR (excluded.observed_at, excluded.activity_id) > (stored.observed_at, stored.activity_id)) THEN excluded.activity_id ELSE stored.activity_id END,
    activity_key = CASE WHEN (stored.activity_id IS NULL
OR (excluded.observed_at, excluded.activity_id) > (stored.observed_at, stored.activity_id))
        THEN excluded.activity_key ELSE stored.activity_key END,
    observed_at = greatest(stored.observed_at, excluded.observed_at),
    is_newly_owned = stored.activity_id IS NULL,
    displaced_activity_id = CASE WHEN (stored.activity_id IS NULL
OR (excluded.observed_at, excluded.activity_id) > (stored.observed_at, stored.activity_id)) AND excluded.activity_id <> stored.activity_id THEN stored.activity_id END,
    displaced_observed_at = CASE WHEN (stored.activity_id IS NULL
OR (excluded.observed_at, excluded.activity_id) > (stored.observed_at, stored.activity_id)) AND excluded.activity_id <> stored.activity_id THEN stored.observed_at END
RETURNING stored.token_digest, stored.activity_id, stored.dead_at, stored.quarantined_at,
stored.installation_hash IS NOT NULL, coalesce(stored.purged_at = stored.dead_at, false);

-- registration, 5: $1 bigint, $2 text[], $3 bytea[], $4 timestamp with time zone[], $5 text[], $6 bigint, $7 bigint, $8 bigint, $9 bigint, $10 bigint, $11 bigint, $12 bigint, $13 bigint, $14 bigint, $15 bigint, $16 bigint, $17 bigint, $18 interval, $19 bigint
WITH merged AS MATERIALIZED (
SELECT a.*, t.*, q.who, q.observed_at AS said_at, q.token_digest AS claimed_digest,
    CASE WHEN (a.batch_number = $1 AND a.outcome IN ('refreshed', 'reactivated')
AND t.owner = a.activity_id
AND coalesce(a.previous_claimed_at <= t.barred_at
AND a.token_claimed_at > t.barred_at, false)) THEN 'reactivated' ELSE a.outcome END AS effect
FROM unnest($2, $3, $4, $5) AS q (activity_id, token_digest, observed_at, who)
CROSS JOIN LATERAL (
    SELECT m.scope_id, m.activity_id, m.activity_key, m.installation_hash, m.subject, m.aliases, m.aliases_changed,
m.displaced_aliases, m.facts_changed, m.token_digest, m.token_observed_at, m.token_claimed_at, m.previous_claimed_at,
m.ended_at, m.expiry_recorded_at, m.outcome, m.batch_number FROM activities m
    WHERE m.scope_id = $6
        AND m.activity_id = q.activity_id AND m.batch_number = $7
    LIMIT 1
) AS a
LEFT JOIN LATERAL (
    SELECT v.activity_id AS owner, v.displaced_activity_id, v.displaced_observed_at, v.is_newly_owned, v.dead_at,
greatest(v.dead_at, v.quarantined_at) AS barred_at, v.installation_hash IS NOT NULL AS is_of_installation FROM token_values v
    WHERE v.scope_id = $8
        AND v.token_digest = q.token_digest
    LIMIT 1
) AS t ON true
), reconciled AS (
UPDATE activities a SET (token_is_doubted, outcome, revision) = (
    SELECT a.token_is_doubted OR (t.owner IS DISTINCT FROM a.activity_id OR t.is_of_installation
OR coalesce(a.token_claimed_at <= t.barred_at, false)),
        CASE WHEN (a.batch_number = $9 AND a.outcome IN ('refreshed', 'reactivated')
AND t.owner = a.activity_id
AND coalesce(a.previous_claimed_at <= t.barred_at
AND a.token_claimed_at > t.barred_at, false)) THEN 'reactivated' ELSE a.outcome END,
        a.revision + CASE WHEN (a.batch_number = $10 AND a.outcome IN ('refreshed', 'reactivated')
AND t.owner = a.activity_id
AND coalesce(a.previous_claimed_at <= t.barred_at
AND a.token_claimed_at > t.barred_at, false)) THEN 1 ELSE 0 END
    FROM (SELECT) AS one LEFT JOIN (
        SELECT v.token_digest, v.activity_id AS owner, v.displaced_activity_id, v.displaced_observed_at, v.is_newly_owned, v.dead_at,
greatest(v.dead_at, v.quarantined_at) AS barred_at, v.installation_hash IS NOT NULL AS is_of_installation FROM token_values v WHERE v.scope_id = $11
    ) AS t ON t.token_digest = a.token_digest
)
WHERE a.scope_id = $12
    AND a.activity_id = ANY(ARRAY(SELECT a.activity_id FROM merged AS s
CROSS JOIN unnest(ARRAY[s.activity_id, s.displaced_activity_id]) AS named (activity_id)
CROSS JOIN LATERAL (
    SELECT n.activity_id, n.ended_at, n.token_claimed_at, n.previous_claimed_at, n.token_is_doubted, n.outcome, n.batch_number
    FROM activities n
    WHERE n.scope_id = $13
        AND n.activity_id = named.activity_id AND n.token_digest = s.claimed_digest
    LIMIT 1
) AS a
WHERE (s.owner <> s.activity_id OR s.displaced_activity_id IS NOT NULL OR s.is_of_installation
    OR s.barred_at IS NOT NULL)
    AND ((a.batch_number = $14 AND a.outcome IN ('refreshed', 'reactivated')
AND s.owner = a.activity_id
AND coalesce(a.previous_claimed_at <= s.barred_at
AND a.token_claimed_at > s.barred_at, false))
        OR (NOT a.token_is_doubted AND a.ended_at IS NULL AND (s.owner IS DISTINCT FROM a.activity_id OR s.is_of_installation
OR coalesce(a.token_claimed_at <= s.barred_at, false))))))
), removed AS (
DELETE FROM activity_aliases al WHERE al.scope_id = $15::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row FROM merged AS a CROSS JOIN LATERAL jsonb_each(a.displaced_aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM activity_aliases r
        WHERE r.scope_id = $16 AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
            AND r.activity_key = a.activity_key
        LIMIT 1
    ) AS found
    WHERE NOT coalesce(a.aliases -> kinds.key ? alias_values.value, false)
))
), added AS (
INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
SELECT a.scope_id, kinds.key, alias_values.value, a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL, a.activity_key
FROM merged AS a CROSS JOIN LATERAL jsonb_each(a.aliases) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values
WHERE a.aliases_changed
ON CONFLICT DO NOTHING
), claimed AS (
INSERT INTO former_claims AS stored (
    scope_id, activity_id, token_digest, observed_at
)
SELECT lost.* FROM merged AS s
CROSS JOIN LATERAL (
    SELECT s.scope_id, s.activity_id, s.claimed_digest, coalesce(s.said_at, s.token_observed_at)
    WHERE s.owner <> s.activity_id
    UNION ALL
    SELECT s.scope_id, s.displaced_activity_id, s.claimed_digest, s.displaced_observed_at
    WHERE s.displaced_activity_id IS NOT NULL
) AS lost
WHERE (s.owner <> s.activity_id OR s.displaced_activity_id IS NOT NULL)
    AND (s.said_at IS NOT NULL OR s.token_digest = s.claimed_digest)
ORDER BY 2, 3
ON CONFLICT (scope_id, activity_id, token_digest) DO UPDATE SET
    observed_at = greatest(stored.observed_at, excluded.observed_at)
)
INSERT INTO events (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
)
SELECT $17, (now() + $18)::date + 1, e.type, e.who, e.activity_id, e.installation_hash, e.subject,
    e.aliases, substr(e.token_digest, 1, 4), e.token_kind, e.attributes_type
FROM (SELECT e.*, s.who FROM merged AS s CROSS JOIN LATERAL (
    SELECT s.effect::text AS type, s.activity_id, s.installation_hash, s.subject, s.aliases AS aliases, s.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
    WHERE s.effect IN ('registered', 'rotated', 'reactivated')
    UNION ALL
    SELECT 'taken-over', loser.activity_id, loser.installation_hash, loser.subject, loser.aliases AS aliases, loser.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
    FROM (SELECT * FROM activities other
WHERE (s.displaced_activity_id IS NOT NULL OR s.owner <> s.activity_id)
    AND (s.said_at IS NOT NULL OR s.token_digest = s.claimed_digest)
    AND other.scope_id = $19
    AND other.activity_id = ANY(ARRAY[s.displaced_activity_id, s.activity_id])
    AND other.activity_id <> s.owner AND other.token_digest = s.claimed_digest AND other.ended_at IS NULL
) AS loser
    WHERE loser.activity_id = s.displaced_activity_id
        OR loser.outcome IN ('registered', 'rotated', 'reactivated')
    UNION ALL
    SELECT 'dropped', s.activity_id, s.installation_hash, s.subject, s.aliases AS aliases, s.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
    WHERE s.effect IN ('registered', 'rotated') AND s.owner = s.activity_id
        AND s.token_claimed_at <= s.dead_at
    UNION ALL
    -- It has its value back, which another had or nobody.
    SELECT 'reactivated', s.activity_id, s.installation_hash, s.subject, s.aliases AS aliases, s.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
    WHERE s.effect = 'refreshed' AND s.owner = s.activity_id AND s.token_digest = s.claimed_digest
        AND (s.displaced_activity_id IS NOT NULL OR s.is_newly_owned)
    UNION ALL
    SELECT CASE WHEN s.aliases_changed THEN 'aliases-changed' ELSE 'changed' END,
        s.activity_id, s.installation_hash, s.subject, all_aliases(s.aliases, s.displaced_aliases) AS aliases, s.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
    WHERE s.effect IN ('refreshed', 'observed', 'superseded') AND (s.aliases_changed OR s.facts_changed)
        OR s.effect IN ('registered', 'rotated', 'reactivated') AND s.displaced_aliases IS NOT NULL
) AS e) AS e;

-- registration, 6: $1 bigint, $2 bigint, $3 text[], $4 bytea[], $5 bytea[], $6 timestamp with time zone[], $7 timestamp with time zone[], $8 bytea[], $9 text[], $10 jsonb[], $11 timestamp with time zone[], $12 jsonb[], $13 text[], $14 boolean[], $15 bigint, $16 bigint, $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 interval, $22 bigint
SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_id = $1),
    '{}'::text[], ARRAY(SELECT r.activity_id FROM apps app CROSS JOIN LATERAL (SELECT q.*, clock.received_at, CASE WHEN q.observed_at IS NOT NULL THEN q.observed_at
WHEN known.token_digest = q.token_digest THEN known.token_observed_at
ELSE coalesce(retired.observed_at, clock.received_at) END AS claimed_at,
q.observed_at IS NULL AND known.token_digest = q.token_digest
AND EXISTS (SELECT FROM token_values held WHERE held.scope_id = $2
AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.token_claimed_at AND coalesce(held.dead_at < known.token_claimed_at, true))
AS ends_quarantine,
CASE WHEN q.observed_at IS NOT NULL THEN q.observed_at
WHEN known.token_digest <> q.token_digest THEN coalesce(retired.observed_at, clock.received_at)
ELSE clock.received_at END AS given_at,
    its.full_state_at AS installation_full_state_at, its.removed_at AS installation_removed_at,
    NULL::timestamptz AS scheduled_at,
    least(coalesce(q.started_at, q.observed_at, clock.received_at), clock.received_at) AS said_started_at
FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) AS q (activity_id, token, token_digest, observed_at, started_at, installation_hash, subject, aliases, aliases_given_at, metadata, attributes_type, frequent_pushes_enabled)
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE q.activity_id IS NOT NULL) AS clock
LEFT JOIN LATERAL (
    SELECT k.installation_hash, k.token_digest, k.token_observed_at, k.token_claimed_at FROM activities k
    WHERE k.scope_id = $15 AND k.activity_id = q.activity_id
    LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
    SELECT i.full_state_at, i.removed_at FROM installations i
    WHERE i.scope_id = $16
        AND i.installation_hash = coalesce(known.installation_hash, q.installation_hash)
    LIMIT 1
) AS its ON true
CROSS JOIN LATERAL (
    SELECT max(claims.observed_at) AS observed_at FROM (
        SELECT v.observed_at FROM token_values v
        WHERE q.observed_at IS NULL AND v.scope_id = $17 AND v.token_digest = q.token_digest
            AND v.activity_id = q.activity_id
        UNION ALL
        SELECT f.observed_at FROM former_claims f
        WHERE q.observed_at IS NULL AND f.scope_id = $18 AND f.activity_id = q.activity_id
            AND f.token_digest = q.token_digest
    ) AS claims
) AS retired) AS r
    WHERE app.app_id = $19 AND (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $20 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $21, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $22
        AND erased.erased_digest = ANY((ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('installation:' || encode(r.installation_hash, 'hex'), 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('subject:' || r.subject, 'UTF8'))] || ARRAY(
SELECT sha256(uuid_send(app.erasure_salt) || convert_to('alias:' || kinds.key || ':' || alias_values.value, 'UTF8'))
FROM jsonb_each(r.aliases) AS kinds CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values)))
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')) OR erased.erased_at >= r.claimed_at)
)) IS TRUE), false;
