-- Requests about an installation lock it first, so that a log-out sees all earlier writes, and later writes see the
-- log-out.

-- name: installations.lock
-- Locks installations in the order of their hashes. Index: installations_pkey.
SELECT i.*
FROM installations i
WHERE i.scope_id = :scope AND i.installation_hash = ANY(:hashes)
ORDER BY i.installation_hash
FOR UPDATE;

-- name: installations.lock-slots
-- Locks an installation's token slots. Index: installation_tokens_pkey.
SELECT r.ctid AS row_position, r.*
FROM installation_tokens r
WHERE r.scope_id = :scope AND r.installation_hash = :installation
ORDER BY NOT r.has_one_owner, r.kind, r.attributes_type
FOR UPDATE;

-- name: installations.lock-owners
-- Locks the token slots that own some locked values. Values are looked up one by one. Indexes: token_values_pkey,
-- installation_tokens_pkey, installations_pkey.
SELECT r.*, i.subject, i.aliases, i.aliases_observed_at
FROM (
    SELECT its.installation_hash, its.installation_kind, its.token_digest
    FROM token_values its
    WHERE its.scope_id = :scope AND its.token_digest = ANY(:digests) AND its.installation_hash IS NOT NULL
    ORDER BY its.installation_hash, its.installation_kind
) AS v
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position, its.*
    FROM installation_tokens its
    WHERE its.scope_id = :scope AND its.installation_hash = v.installation_hash AND its.kind = v.installation_kind
        AND its.token_digest = v.token_digest AND its.token IS NOT NULL
    LIMIT 1 FOR UPDATE
) AS r
CROSS JOIN LATERAL (
    SELECT its.subject, its.aliases, its.aliases_observed_at
    FROM installations its
    WHERE its.scope_id = :scope AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i;

-- name: installations.lock-sharers
-- Locks the token slots that share some locked values, at most :limit per value, deliverable ones first. Omits values
-- owned by an installation, because these slots are withheld already. Indexes: token_values_pkey,
-- installation_tokens_of_value, installations_pkey.
SELECT r.*, i.subject, i.aliases, i.aliases_observed_at
FROM (
    SELECT its.token_digest
    FROM token_values its
    WHERE its.scope_id = :scope AND its.token_digest = ANY(:digests) AND its.start_observed_at IS NOT NULL
        AND its.installation_hash IS NULL
) AS n
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position, its.*
    FROM installation_tokens its
    WHERE its.scope_id = :scope AND NOT its.has_one_owner AND its.token_digest = n.token_digest
        AND its.token IS NOT NULL
    ORDER BY its.withheld IS NOT NULL LIMIT :limit FOR UPDATE
) AS r
CROSS JOIN LATERAL (
    SELECT its.subject, its.aliases, its.aliases_observed_at
    FROM installations its
    WHERE its.scope_id = :scope AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i;

-- name: installations.insert
INSERT INTO installations (
    scope_id, installation_hash, subject, subject_observed_at, taken_over_at, other_user_observed_at, full_state_at,
    removed_at, aliases, aliases_observed_at, metadata, metadata_observed_at, touched_at
)
VALUES (
    :scope, :installation, :subject, :subject_observed_at, :taken_over_at, :other_user_observed_at, :full_state_at,
    :removed_at, :aliases, :aliases_observed_at, :metadata, :metadata_observed_at, :now
);

-- name: installations.update
-- Index: installations_pkey.
UPDATE installations i
SET subject = :subject, subject_observed_at = :subject_observed_at, taken_over_at = :taken_over_at,
    other_user_observed_at = :other_user_observed_at, full_state_at = :full_state_at, removed_at = :removed_at,
    aliases = :aliases, aliases_observed_at = :aliases_observed_at, metadata = :metadata,
    metadata_observed_at = :metadata_observed_at, touched_at = :now
WHERE i.scope_id = :scope AND i.installation_hash = :installation;

-- name: installations.delete-aliases
-- Deletes alias rows, looked up one by one. Index: installation_aliases_pkey.
DELETE FROM installation_aliases al
WHERE al.scope_id = :scope::bigint::numeric AND al.ctid = ANY(ARRAY(
    SELECT found.row_position
    FROM unnest(:kinds::text[], :values::text[]) AS n (kind, value)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row_position
        FROM installation_aliases r
        WHERE r.scope_id = :scope AND r.kind = n.kind AND r.value = n.value AND r.installation_hash = :installation
        LIMIT 1
    ) AS found
));

-- name: installations.insert-aliases
INSERT INTO installation_aliases (scope_id, kind, value, installation_hash)
SELECT :scope, n.kind, n.value, :installation
FROM unnest(:kinds::text[], :values::text[]) AS n (kind, value)
ON CONFLICT DO NOTHING;

-- name: installations.delete-leases
-- Looks up leases by installation: a plan for a small table would read the scope's. Index: start_leases_pkey.
DELETE FROM start_leases d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row_position
    FROM unnest(:hashes::bytea[]) AS n (installation_hash)
    CROSS JOIN LATERAL (
        SELECT l.ctid AS row_position
        FROM start_leases l
        WHERE l.scope_id = :scope AND l.installation_hash = n.installation_hash
        FOR UPDATE
    ) AS found
));

-- name: installations.insert-slot
INSERT INTO installation_tokens (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, token, token_digest, observed_at, claimed_at,
    confirmed_at, deleted_at, withheld, touched_at
)
VALUES (
    :scope, :installation, :kind, :attributes_type, :has_one_owner, :token, :token_digest, :observed_at, :claimed_at,
    :confirmed_at, :deleted_at, :withheld, :now
);

-- name: installations.update-slots
UPDATE installation_tokens r
SET token = n.token, token_digest = n.token_digest, observed_at = n.observed_at, claimed_at = n.claimed_at,
    confirmed_at = n.confirmed_at, deleted_at = n.deleted_at, withheld = n.withheld, touched_at = :now
FROM unnest(:rows::token_slot_write[]) AS n
WHERE r.ctid = n.row_position AND r.scope_id = :scope::bigint::numeric;

-- name: installations.insert-value
INSERT INTO token_values (
    scope_id, token_digest, installation_kind, installation_hash, installation_observed_at, start_observed_at,
    touched_at
)
VALUES (
    :scope, :digest, :installation_kind, :installation, :installation_observed_at, :start_observed_at, :now
);

-- name: installations.update-value
-- Updates an installation's claim on a value. Index: token_values_pkey.
UPDATE token_values v
SET installation_kind = :installation_kind, installation_hash = :installation,
    installation_observed_at = :installation_observed_at, start_observed_at = :start_observed_at, touched_at = :now
WHERE v.scope_id = :scope AND v.token_digest = :digest;

-- name: installations.read
-- Index: installations_pkey.
SELECT i.*
FROM installations i
WHERE i.scope_id = :scope AND i.installation_hash = :installation;

-- name: installations.read-running-activities
-- Lists an installation's activities without an end. Index: activities_of_installation.
SELECT a.activity_id
FROM activities a
WHERE a.scope_id = :scope AND a.installation_hash = :installation AND a.ended_at IS NULL
LIMIT :limit;

-- name: installations.read-running-page
-- One page of an installation's running activities that had started by a log-out. Index: activities_of_installation.
SELECT a.activity_id, a.activity_key
FROM activities a
WHERE a.scope_id = :scope AND a.installation_hash = :installation AND a.ended_at IS NULL AND a.activity_key > :after
    AND a.expires_at > now() AND a.started_at <= :started_by
ORDER BY a.activity_key
LIMIT :limit;
