-- Activities known only by a liveactivityId and its owner.

-- name: name-only.lock-identity
-- Locks an identity. Index: alias_identities_pkey.
SELECT i.activity_id, i.ended_at
FROM alias_identities i
WHERE i.scope_id = :scope AND i.alias = :alias AND i.owner = :owner
FOR UPDATE;

-- name: name-only.insert-identity
INSERT INTO alias_identities (scope_id, alias, owner, activity_id, ended_at, touched_at)
VALUES (:scope, :alias, :owner, :activity, :ended_at, :touched_at);

-- name: name-only.update-identity
-- Updates an identity. Index: alias_identities_pkey.
UPDATE alias_identities i
SET activity_id = :activity, ended_at = :ended_at, touched_at = :touched_at
WHERE i.scope_id = :scope AND i.alias = :alias AND i.owner = :owner;
