-- A plan reads facts about installations, decides in Swift (RegistryRules), locks the leases that it may take, decides
-- again, and writes them. Feedback and callers end leases early. A registration frees a lease without a write: see
-- plan.read-activities.

-- name: plan.read-running
-- One page of an alias's running activities in the order of their keys, with the device token if an activity has no
-- deliverable token. Examines at most :most activities, because most may have expired. Indexes: activity_aliases_pkey,
-- activities_of_key, installations_pkey, installation_tokens_pkey.
SELECT a.*, dt.token AS device_token
FROM (
    SELECT its.activity_key
    FROM activity_aliases its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.value = :value AND NOT its.ended
        AND its.activity_key > :after
    ORDER BY its.activity_key
    LIMIT :most
) AS al
CROSS JOIN LATERAL (
    SELECT its.*
    FROM sender_activities its
    WHERE its.scope_id = :scope AND its.activity_key = al.activity_key AND its.activity_key > 0
        AND its.state = 'active'
    LIMIT 1
) AS a
LEFT JOIN LATERAL (
    SELECT its.token
    FROM deliverable_installation_tokens its
    WHERE its.scope_id = :scope AND its.installation_hash = a.installation_hash AND its.kind = 'device'
        AND its.attributes_type = '' AND a.reason IS NOT NULL
    LIMIT 1
) AS dt ON true
ORDER BY al.activity_key
LIMIT :limit;

-- name: plan.find-installations
-- One page of the installations that have at least one of the aliases, in the order of their hashes. Index:
-- installation_aliases_pkey.
SELECT DISTINCT named.installation_hash
FROM unnest(:kinds::text[], :values::text[]) AS q (kind, value)
CROSS JOIN LATERAL (
    SELECT al.installation_hash
    FROM installation_aliases al
    WHERE al.scope_id = :scope AND al.kind = q.kind AND al.value = q.value AND al.installation_hash > :after
    ORDER BY al.installation_hash
    LIMIT :limit
) AS named
ORDER BY named.installation_hash
LIMIT :limit;

-- name: plan.read-activities
-- For each installation and alias: the newest running activity, the last registration, and whether the user dismissed
-- the newest activity before iOS ended it. A dismissal counts while the tombstone is kept. Omits installations with an
-- activity on an earlier page. A registration's time is at most the end of its activity, so a late repetition does not
-- count. Examines at most :most activities with an end and :most without one per installation, newest first.
-- Indexes: installations_pkey, activities_of_installation, activities_of_key.
SELECT q.position, i.subject, b.registered_at, b.newest_at, b.was_dismissed, a.*
FROM unnest(:hashes::bytea[], :kinds::text[], :values::text[]) WITH ORDINALITY AS q (hash, kind, value, position)
LEFT JOIN LATERAL (
    SELECT its.subject, its.removed_at, its.full_state_at
    FROM installations its
    WHERE its.scope_id = :scope AND its.installation_hash = q.hash
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT max(own.activity_key) FILTER (WHERE s.state = 'active') AS running,
        max(least(greatest(own.created_at, own.confirmed_at), o.over_at)) AS registered_at,
        max(least(own.created_at, o.over_at)) AS newest_at,
        coalesce((array_agg(own.end_reason = 'dismissed' AND own.ended_at < own.expires_at
                AND own.expires_at > now() - :retention::interval
            ORDER BY own.started_at DESC, own.activity_key DESC))[1], false) AS was_dismissed
    FROM (VALUES (true), (false)) AS kept (runs)
    CROSS JOIN LATERAL (
        SELECT its.* FROM activities its
        WHERE its.scope_id = :scope AND its.installation_hash = q.hash AND (its.ended_at IS NULL) = kept.runs
        ORDER BY its.activity_key DESC LIMIT :most
    ) AS own
    CROSS JOIN LATERAL (SELECT activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
        i.removed_at, i.full_state_at) AS state) AS s
    CROSS JOIN LATERAL (SELECT least(own.expires_at, CASE WHEN s.state = 'dismissed' THEN i.full_state_at
        WHEN s.state = 'ended' AND own.ended_at IS NULL THEN i.removed_at END) AS over_at) AS o
    WHERE own.aliases -> q.kind ? q.value
) AS b
LEFT JOIN LATERAL (
    SELECT its.* FROM sender_activities its
    WHERE its.scope_id = :scope AND its.activity_key = b.running AND its.activity_key > 0 LIMIT 1
) AS a ON true
WHERE coalesce(b.running > :after, true);

-- name: plan.read-tokens
-- The start tokens of a type and the device tokens of installations. Index: installation_tokens_pkey.
SELECT r.installation_hash, r.kind, r.token, r.confirmed_at
FROM unnest(:hashes::bytea[]) AS q (installation_hash)
CROSS JOIN LATERAL (
    SELECT its.installation_hash, its.kind, its.token, its.confirmed_at
    FROM deliverable_installation_tokens its
    WHERE its.scope_id = :scope AND its.installation_hash = q.installation_hash
        AND (its.kind = 'start' AND its.attributes_type = :attributes_type
            OR its.kind = 'device' AND its.attributes_type = '')
    OFFSET 0
) AS r;

-- name: plan.read-leases
-- An alias's leases on some installations. Index: start_leases_pkey or start_leases_of_alias.
SELECT l.*
FROM unnest(:hashes::bytea[]) AS q (installation_hash)
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position, its.*
    FROM start_leases its
    WHERE its.scope_id = :scope AND its.installation_hash = q.installation_hash AND its.kind = :kind
        AND its.value = :value
    LIMIT 1
) AS l;

-- name: plan.lock-leases
-- Locks an alias's leases on some installations, in the given order of hashes, which must be sorted.
-- Index: start_leases_pkey or start_leases_of_alias.
SELECT l.*
FROM unnest(:hashes::bytea[]) AS q (installation_hash)
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position, its.*
    FROM start_leases its
    WHERE its.scope_id = :scope AND its.installation_hash = q.installation_hash AND its.kind = :kind
        AND its.value = :value
    LIMIT 1 FOR UPDATE
) AS l;

-- name: plan.lock-leases-by-id
-- Locks leases by id, in the order of their keys. Omits a lease that another plan takes meanwhile, because its id
-- changes. Indexes: start_leases_id_key, start_leases_pkey or start_leases_of_alias, installations_pkey.
SELECT l.*,
    (SELECT i.subject FROM installations i
        WHERE i.scope_id = :scope AND i.installation_hash = l.installation_hash LIMIT 1)
FROM (
    SELECT found.installation_hash, found.kind, found.value, found.lease_id
    FROM unnest(:ids::bytea[]) AS named (lease_id)
    CROSS JOIN LATERAL (
        SELECT its.*
        FROM start_leases its
        WHERE its.scope_id = :scope AND its.lease_id = named.lease_id
        LIMIT 1
    ) AS found
    ORDER BY found.installation_hash, found.kind, found.value
) AS q
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position, its.*
    FROM start_leases its
    WHERE its.scope_id = :scope AND its.installation_hash = q.installation_hash AND its.kind = q.kind
        AND its.value = q.value AND its.lease_id = q.lease_id
    LIMIT 1 FOR UPDATE
) AS l;

-- name: plan.insert-leases
INSERT INTO start_leases (
    scope_id, installation_hash, kind, value, attributes_type, replaces, lease_id, plan_id, leased_at, leased_until,
    attempted_at, touched_at
)
SELECT :scope, n.installation_hash, n.kind, n.value, n.attributes_type, n.replaces, n.lease_id, n.plan_id, n.leased_at,
    n.leased_until, n.attempted_at, :now
FROM unnest(:rows::start_lease_write[]) AS n;

-- name: plan.update-leases
UPDATE start_leases l
SET attributes_type = n.attributes_type, replaces = n.replaces, lease_id = n.lease_id, plan_id = n.plan_id,
    leased_at = n.leased_at, leased_until = n.leased_until, attempted_at = n.attempted_at, failed_at = n.failed_at,
    failure = n.failure, retry_at = n.retry_at, released_at = n.released_at, touched_at = :now
FROM unnest(:rows::start_lease_write[]) AS n
WHERE l.ctid = n.row_position AND l.scope_id = :scope::bigint::numeric;

-- name: plan.list-leases-of-installation
-- Lists an installation's latest leases. Index: start_leases_pkey.
SELECT l.ctid AS row_position, l.*
FROM start_leases l
WHERE l.scope_id = :scope AND l.installation_hash = :installation
ORDER BY l.leased_at DESC
LIMIT :limit;

-- name: plan.list-leases-of-alias
-- Lists an alias's leases on the first installations. Index: start_leases_of_alias.
SELECT l.ctid AS row_position, l.*
FROM start_leases l
WHERE l.scope_id = :scope AND l.kind = :kind AND l.value = :value
ORDER BY l.installation_hash
LIMIT :limit;
