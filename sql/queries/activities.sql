-- Units of work on activities lock rows, decide in Swift (RegistryRules), and write rows; locks and writes take one
-- round trip each. An insert fails with a unique violation if another session inserted the row meanwhile, and the
-- transaction restarts.

-- name: activities.lock
-- Locks activities in the order of their ids. Index: activities_pkey.
SELECT a.ctid AS row_position, a.*
FROM activities a
WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids)
ORDER BY a.activity_id
FOR UPDATE;

-- name: activities.lock-values
-- Locks token values in the order of their digests. Index: token_values_pkey.
SELECT v.ctid AS row_position, v.*
FROM token_values v
WHERE v.scope_id = :scope AND v.token_digest = ANY(:digests)
ORDER BY v.token_digest
FOR UPDATE;

-- name: activities.read-context
-- After all locks, reads the time, whether erasures must be checked, and some installations; no row if the app was
-- deleted. Installations need no lock, because reads of an activity compare their times. They are looked up one by one.
-- Indexes: apps_pkey, erasures_recent, installations_pkey.
SELECT clock_timestamp() AS now,
    coalesce((
        SELECT e.erased_at
        FROM erasures e
        WHERE e.scope_id = :scope AND e.erased_at > '-infinity'
        ORDER BY e.erased_at DESC
        LIMIT 1
    ) > now() - app.tombstone_retention, false) AS has_erasures,
    i.installation_hash, i.full_state_at, i.removed_at
FROM apps app
LEFT JOIN (
    unnest(:hashes::bytea[]) AS named (hash)
    CROSS JOIN LATERAL (
        SELECT its.installation_hash, its.full_state_at, its.removed_at
        FROM installations its
        WHERE its.scope_id = :scope AND its.installation_hash = named.hash
        LIMIT 1
    ) AS i
) ON true
WHERE app.app_id = :app;

-- name: activities.find-erasures
-- Finds the given names that are erased, by salted digest, one by one. Index: erasures_pkey.
SELECT named.position, e.erased_at
FROM apps app
CROSS JOIN unnest(:names::text[]) WITH ORDINALITY AS named (name, position)
CROSS JOIN LATERAL (
    SELECT its.erased_at
    FROM erasures its
    WHERE its.scope_id = :scope
        AND its.erased_digest = sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8'))
    LIMIT 1
) AS e
WHERE app.app_id = :app;

-- name: activities.insert
INSERT INTO activities (
    scope_id, activity_id, installation_hash, subject, attributes_type, frequent_pushes_enabled,
    push_type, starts_at, started_at, expires_at, ended_at, end_reason, last_observed_at,
    aliases, aliases_observed_at, metadata, metadata_observed_at,
    token, token_digest, token_observed_at, token_claimed_at, withheld, confirmed_at, revision, created_at, touched_at
)
SELECT
    :scope, n.activity_id, n.installation_hash, n.subject, n.attributes_type, n.frequent_pushes_enabled,
    n.push_type, n.starts_at, n.started_at, n.expires_at, n.ended_at, n.end_reason, n.last_observed_at,
    n.aliases, n.aliases_observed_at, n.metadata, n.metadata_observed_at,
    n.token, n.token_digest, n.token_observed_at, n.token_claimed_at, n.withheld, n.confirmed_at, n.revision, :now,
    CASE WHEN n.ended_at IS NOT NULL OR n.expires_at <= :now THEN :now END
FROM unnest(:rows::activity_write[]) AS n;

-- name: activities.update
-- Updates locked rows by ctid, which others cannot change: see Plans in 0001_apps_and_keys.sql. Always writes (R1).
UPDATE activities a
SET installation_hash = n.installation_hash, subject = n.subject, attributes_type = n.attributes_type,
    frequent_pushes_enabled = n.frequent_pushes_enabled, push_type = n.push_type,
    starts_at = n.starts_at, started_at = n.started_at, expires_at = n.expires_at, ended_at = n.ended_at,
    end_reason = n.end_reason, expiry_recorded_at = n.expiry_recorded_at, last_observed_at = n.last_observed_at,
    aliases = coalesce(n.aliases, a.aliases), aliases_observed_at = n.aliases_observed_at,
    metadata = coalesce(n.metadata, a.metadata), metadata_observed_at = n.metadata_observed_at,
    token = n.token, token_digest = n.token_digest, token_observed_at = n.token_observed_at,
    token_claimed_at = n.token_claimed_at, withheld = n.withheld, confirmed_at = n.confirmed_at,
    revision = n.revision, touched_at = CASE WHEN n.ended_at IS NOT NULL OR n.expires_at <= :now THEN :now END
FROM unnest(:rows::activity_write[]) AS n
WHERE a.ctid = n.row_position AND a.scope_id = :scope::bigint::numeric;

-- name: activities.delete-aliases
-- Deletes alias rows, looked up one by one. Index: activity_aliases_pkey.
DELETE FROM activity_aliases al
WHERE al.scope_id = :scope::bigint::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row_position
    FROM unnest(:rows::activity_alias_write[]) AS n
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row_position
        FROM activity_aliases r
        WHERE r.scope_id = :scope AND r.kind = n.kind AND r.value = n.value AND r.ended = n.ended
            AND r.activity_key = n.activity_key
        LIMIT 1
    ) AS found
));

-- name: activities.insert-aliases
-- Inserts alias rows; looks up only new activities' keys. Index: activities_pkey.
INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
SELECT :scope, n.kind, n.value, n.ended,
    coalesce(n.activity_key, (
        SELECT a.activity_key FROM activities a WHERE a.scope_id = :scope AND a.activity_id = n.activity_id LIMIT 1
    ))
FROM unnest(:rows::activity_alias_write[]) AS n
ON CONFLICT DO NOTHING;

-- name: activities.insert-values
-- Index: activities_pkey.
INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
SELECT :scope, n.token_digest, n.activity_id,
    coalesce(n.activity_key, (
        SELECT a.activity_key FROM activities a WHERE a.scope_id = :scope AND a.activity_id = n.activity_id LIMIT 1
    )),
    n.observed_at
FROM unnest(:rows::token_owner_write[]) AS n;

-- name: activities.update-values
-- Updates locked rows by ctid. Index: activities_pkey.
UPDATE token_values v
SET activity_id = n.activity_id, observed_at = n.observed_at,
    activity_key = coalesce(n.activity_key, (
        SELECT a.activity_key FROM activities a WHERE a.scope_id = :scope AND a.activity_id = n.activity_id LIMIT 1
    ))
FROM unnest(:rows::token_owner_write[]) AS n
WHERE v.ctid = n.row_position AND v.scope_id = :scope::bigint::numeric;

-- name: activities.insert-events
INSERT INTO events (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
    attributes_type, lease_id
)
SELECT :scope, (now() + :retention)::date + 1, n.*
FROM unnest(:rows::event_write[]) AS n;
