-- alias identity, 1: $1 bigint, $2 text, $3 text, $4 timestamp with time zone, $5 bigint, $6 timestamp with time zone, $7 bigint, $8 text[], $9 timestamp with time zone
INSERT INTO alias_identities AS stored (scope_id, alias, owner, touched_at)
SELECT $1, $2, $3, greatest(clock_timestamp(), $4)
FROM apps app
WHERE app.app_id = $5 AND coalesce($6 <= now() + interval '5 minutes', true)
    AND NOT (EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $7
        AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($8) AS named (name)))
        AND (erased.erased_digest = NULL OR erased.erased_at >= coalesce($9, now()))
)) IS TRUE
ON CONFLICT (scope_id, alias, owner) DO UPDATE SET touched_at = greatest(stored.touched_at, excluded.touched_at)
RETURNING stored.activity_id, stored.closed_activity_id, stored.ended_at;

-- alias identity, 2: $1 bytea, $2 bigint, $3 text, $4 text, $5 bytea
SELECT clock_timestamp(), coalesce(sha256($1), ''), EXISTS (
    SELECT FROM alias_registrations r WHERE r.scope_id = $2 AND r.alias = $3 AND r.owner = $4 AND r.token_digest = sha256($5)
);

-- alias identity, 3: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 text
SELECT stored.outcome::text, stored.token_digest, stored.activity_id, stored.end_reason::text, coalesce(stored.ended_at, CASE WHEN its.removed_at >= stored.started_at THEN its.removed_at END), coalesce(stored.token_observed_at, stored.last_observed_at),
stored.confirmed_at, stored.expires_at, stored.revision, activity_state(stored.ended_at, stored.started_at, stored.expires_at, stored.last_observed_at,
its.removed_at, its.full_state_at), now(), stored.expires_at > now(),
stored.token_claimed_at, stored.previous_claimed_at, stored.last_observed_at
FROM alias_identities i CROSS JOIN LATERAL (
    SELECT * FROM activities its WHERE its.scope_id = $1
        AND its.activity_id = i.activity_id LIMIT 1
) AS stored LEFT JOIN LATERAL (
    SELECT * FROM installations own WHERE own.scope_id = $2
        AND own.installation_hash = stored.installation_hash LIMIT 1
) AS its ON true
WHERE i.scope_id = $3 AND i.alias = $4 AND i.owner = $5;

-- alias identity, 4: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 text, $7 text, $8 bigint
SELECT r.observed_at, r.token_digest, r.activity_id, r.token, r.facts, own.lifetime
FROM alias_registrations r JOIN alias_identities i ON i.scope_id = $1 AND i.alias = $2 AND i.owner = $3
LEFT JOIN LATERAL (
    SELECT a.lifetime FROM activities a WHERE a.scope_id = $4 AND a.activity_id = r.activity_id LIMIT 1
) AS own ON true
WHERE r.scope_id = $5 AND r.alias = $6 AND r.owner = $7 AND (i.ended_at IS NULL OR r.observed_at > i.ended_at) AND r.token IS NOT NULL
ORDER BY r.observed_at DESC, r.token_digest DESC LIMIT $8;

-- alias identity, 5: $1 bigint, $2 bigint, $3 bigint, $4 text[], $5 timestamp with time zone
SELECT clock_timestamp(), EXISTS (SELECT FROM apps app WHERE app.app_id = $1),
    '{}'::text[], ARRAY(SELECT 'identity' FROM apps app
    WHERE app.app_id = $2 AND (EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $3
        AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($4) AS named (name)))
        AND (erased.erased_digest = NULL OR erased.erased_at >= coalesce($5, now()))
)) IS TRUE), false;

-- alias identity, 6: $1 timestamp with time zone[], $2 bytea[], $3 bigint, $4 text, $5 text
UPDATE alias_registrations r SET token = NULL, facts = NULL
FROM unnest($1, $2) AS q (observed_at, token_digest)
WHERE r.scope_id = $3 AND r.alias = $4 AND r.owner = $5 AND r.observed_at = q.observed_at AND r.token_digest = q.token_digest;

-- alias identity, 7: $1 bigint, $2 text, $3 text, $4 bigint, $5 text, $6 text, $7 bigint
DELETE FROM alias_registrations d WHERE d.scope_id = $1 AND d.alias = $2 AND d.owner = $3 AND d.ctid = ANY(ARRAY(
    SELECT r.ctid FROM alias_registrations r WHERE r.scope_id = $4 AND r.alias = $5 AND r.owner = $6 AND r.token IS NULL
    ORDER BY r.observed_at DESC, r.token_digest DESC OFFSET $7 LIMIT 1000
));

-- alias identity, 8: $1 bigint, $2 text, $3 text, $4 interval, $5 interval, $6 bigint
DELETE FROM alias_registrations r
WHERE r.scope_id = $1 AND r.alias = $2 AND r.owner = $3
    AND r.observed_at <= now() - $4 - $5
    AND (SELECT a.activity_id FROM activities a WHERE a.scope_id = $6
        AND a.activity_id = r.activity_id LIMIT 1) IS NULL;
