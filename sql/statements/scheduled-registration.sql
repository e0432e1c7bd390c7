-- scheduled registration, 1: the same as registration, 1

-- scheduled registration, 2: the same as registration, 2

-- scheduled registration, 3: $1 bigint, $2 bigint, $3 bigint, $4 text[], $5 bytea[], $6 bytea[], $7 timestamp with time zone[], $8 timestamp with time zone[], $9 bytea[], $10 text[], $11 jsonb[], $12 timestamp with time zone[], $13 jsonb[], $14 timestamp with time zone[], $15 boolean[], $16 text[], $17 boolean[], $18 bigint, $19 bigint, $20 bigint, $21 bigint, $22 bigint, $23 bigint, $24 interval, $25 bigint
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
    CASE WHEN q.starts_at > coalesce(q.observed_at, clock.received_at) AND (q.was_accepted
    OR coalesce(q.observed_at > clock.received_at - app.activity_lifetime, true)) THEN q.starts_at END AS scheduled_at,
    least(coalesce(q.started_at, q.observed_at, clock.received_at), clock.received_at) AS said_started_at
FROM unnest($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AS q (activity_id, token, token_digest, observed_at, started_at, installation_hash, subject, aliases, aliases_given_at, metadata, starts_at, was_accepted, attributes_type, frequent_pushes_enabled)
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE q.activity_id IS NOT NULL) AS clock
LEFT JOIN LATERAL (
    SELECT k.installation_hash, k.token_digest, k.token_observed_at, k.token_claimed_at FROM activities k
    WHERE k.scope_id = $18 AND k.activity_id = q.activity_id
    LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
    SELECT i.full_state_at, i.removed_at FROM installations i
    WHERE i.scope_id = $19
        AND i.installation_hash = coalesce(known.installation_hash, q.installation_hash)
    LIMIT 1
) AS its ON true
CROSS JOIN LATERAL (
    SELECT max(claims.observed_at) AS observed_at FROM (
        SELECT v.observed_at FROM token_values v
        WHERE q.observed_at IS NULL AND v.scope_id = $20 AND v.token_digest = q.token_digest
            AND v.activity_id = q.activity_id
        UNION ALL
        SELECT f.observed_at FROM former_claims f
        WHERE q.observed_at IS NULL AND f.scope_id = $21 AND f.activity_id = q.activity_id
            AND f.token_digest = q.token_digest
    ) AS claims
) AS retired) AS r
WHERE app.app_id = $22 AND (r.observed_at IS NULL OR r.observed_at <= now() + interval '5 minutes')
    AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $23 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $24, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $25
        AND erased.erased_digest = ANY((ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('installation:' || encode(r.installation_hash, 'hex'), 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('subject:' || r.subject, 'UTF8'))] || ARRAY(
SELECT sha256(uuid_send(app.erasure_salt) || convert_to('alias:' || kinds.key || ':' || alias_values.value, 'UTF8'))
FROM jsonb_each(r.aliases) AS kinds CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values)))
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')) OR erased.erased_at >= r.claimed_at)
)) IS TRUE
ORDER BY r.activity_id COLLATE "C"
ON CONFLICT (scope_id, activity_id) DO UPDATE SET token = CASE WHEN stored.ended_at IS NOT NULL THEN NULL
WHEN stored.expiry_recorded_at IS NOT NULL AND ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
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
token_is_doubted = (stored.token_is_doubted OR (stored.expires_at <= excluded.touched_at AND ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') > excluded.touched_at)) AND NOT coalesce((excluded.token_digest <> stored.token_digest) AND (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))), false),
confirmed_at = CASE WHEN stored.ended_at IS NULL
AND ((excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) OR excluded.token_digest = stored.token_digest)
THEN greatest(stored.confirmed_at, excluded.confirmed_at) ELSE stored.confirmed_at END,
last_observed_at = greatest(stored.last_observed_at, excluded.last_observed_at),
started_at = least(stored.started_at, excluded.started_at),
expires_at = ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0'),
expiry_recorded_at = CASE WHEN ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') <= excluded.touched_at THEN stored.expiry_recorded_at END,
starts_at = CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END,
starts_at_observed_at = CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at_observed_at ELSE stored.starts_at_observed_at END,
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
OR (excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) AND excluded.starts_at IS DISTINCT FROM stored.starts_at)
OR (stored.expires_at <= excluded.touched_at AND ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') > excluded.touched_at)
OR (stored.attributes_type IS NULL AND excluded.attributes_type IS NOT NULL)
OR (stored.frequent_pushes_enabled IS NULL AND excluded.frequent_pushes_enabled IS NOT NULL)
OR coalesce(stored.installation_hash IS NOT NULL AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) > stored.last_observed_at
AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) <= excluded.last_observed_at, false) THEN 1 ELSE 0 END,
outcome = CASE WHEN stored.ended_at IS NOT NULL THEN 'refused'::activity_outcome
WHEN ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') <= excluded.touched_at THEN 'expired'
WHEN excluded.token_digest IS NOT NULL AND stored.token_digest IS NULL THEN 'registered'
WHEN (excluded.token_digest <> stored.token_digest) THEN CASE WHEN (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest))) THEN 'rotated'::activity_outcome ELSE 'superseded' END
WHEN coalesce(stored.installation_hash IS NOT NULL AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) > stored.last_observed_at
AND greatest(excluded.installation_full_state_at,
CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END) <= excluded.last_observed_at, false) OR (stored.expires_at <= excluded.touched_at AND ((greatest(least(stored.started_at, excluded.started_at), CASE WHEN excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) THEN excluded.starts_at ELSE stored.starts_at END) AT TIME ZONE interval '0' + stored.lifetime)
AT TIME ZONE interval '0') > excluded.touched_at) THEN 'reactivated'
WHEN excluded.token_digest IS NULL THEN 'observed' ELSE 'refreshed' END,
facts_changed = coalesce(excluded.started_at < stored.started_at
OR (excluded.starts_at IS NOT NULL AND (stored.starts_at IS NULL
OR (excluded.starts_at_observed_at, excluded.starts_at) < (stored.starts_at_observed_at, stored.starts_at)) AND excluded.starts_at IS DISTINCT FROM stored.starts_at)
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

-- scheduled registration, 4: the same as registration, 4

-- scheduled registration, 5: $1 bigint, $2 bigint, $3 text[], $4 bigint, $5 bigint
UPDATE activity_aliases al SET ended = false WHERE al.scope_id = $1::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row FROM (SELECT m.scope_id, m.activity_id, m.activity_key, m.installation_hash, m.subject, m.aliases, m.aliases_changed,
m.displaced_aliases, m.facts_changed, m.token_digest, m.token_observed_at, m.token_claimed_at, m.previous_claimed_at,
m.ended_at, m.expiry_recorded_at, m.outcome, m.batch_number FROM activities m
WHERE m.scope_id = $2
    AND m.activity_id = ANY($3) AND m.batch_number = $4) AS a CROSS JOIN LATERAL jsonb_each(coalesce(a.displaced_aliases, a.aliases)) AS kinds
CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values CROSS JOIN LATERAL (
        SELECT r.ctid AS row FROM activity_aliases r
        WHERE r.scope_id = $5 AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (true)
            AND r.activity_key = a.activity_key
        LIMIT 1
    ) AS found
    WHERE (NOT (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)) IS TRUE
));

-- scheduled registration, 6: the same as registration, 5

-- scheduled registration, 7: $1 bigint, $2 bigint, $3 text[], $4 bytea[], $5 bytea[], $6 timestamp with time zone[], $7 timestamp with time zone[], $8 bytea[], $9 text[], $10 jsonb[], $11 timestamp with time zone[], $12 jsonb[], $13 timestamp with time zone[], $14 boolean[], $15 text[], $16 boolean[], $17 bigint, $18 bigint, $19 bigint, $20 bigint, $21 bigint, $22 bigint, $23 interval, $24 bigint
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
    CASE WHEN q.starts_at > coalesce(q.observed_at, clock.received_at) AND (q.was_accepted
    OR coalesce(q.observed_at > clock.received_at - app.activity_lifetime, true)) THEN q.starts_at END AS scheduled_at,
    least(coalesce(q.started_at, q.observed_at, clock.received_at), clock.received_at) AS said_started_at
FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) AS q (activity_id, token, token_digest, observed_at, started_at, installation_hash, subject, aliases, aliases_given_at, metadata, starts_at, was_accepted, attributes_type, frequent_pushes_enabled)
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE q.activity_id IS NOT NULL) AS clock
LEFT JOIN LATERAL (
    SELECT k.installation_hash, k.token_digest, k.token_observed_at, k.token_claimed_at FROM activities k
    WHERE k.scope_id = $17 AND k.activity_id = q.activity_id
    LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
    SELECT i.full_state_at, i.removed_at FROM installations i
    WHERE i.scope_id = $18
        AND i.installation_hash = coalesce(known.installation_hash, q.installation_hash)
    LIMIT 1
) AS its ON true
CROSS JOIN LATERAL (
    SELECT max(claims.observed_at) AS observed_at FROM (
        SELECT v.observed_at FROM token_values v
        WHERE q.observed_at IS NULL AND v.scope_id = $19 AND v.token_digest = q.token_digest
            AND v.activity_id = q.activity_id
        UNION ALL
        SELECT f.observed_at FROM former_claims f
        WHERE q.observed_at IS NULL AND f.scope_id = $20 AND f.activity_id = q.activity_id
            AND f.token_digest = q.token_digest
    ) AS claims
) AS retired) AS r
    WHERE app.app_id = $21 AND (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.scope_id = $22 AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $23, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $24
        AND erased.erased_digest = ANY((ARRAY[sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('installation:' || encode(r.installation_hash, 'hex'), 'UTF8')),
sha256(uuid_send(app.erasure_salt) || convert_to('subject:' || r.subject, 'UTF8'))] || ARRAY(
SELECT sha256(uuid_send(app.erasure_salt) || convert_to('alias:' || kinds.key || ':' || alias_values.value, 'UTF8'))
FROM jsonb_each(r.aliases) AS kinds CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values)))
        AND (erased.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to('activity:' || r.activity_id, 'UTF8')) OR erased.erased_at >= r.claimed_at)
)) IS TRUE), false;
