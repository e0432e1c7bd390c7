-- name: installations.read-full-state
-- Index: installations_pkey.
SELECT i.full_state_at
FROM installations i
WHERE i.scope_id = :scope AND i.installation_hash = :installation;

-- name: installations.set-full-state
-- Keeps the greatest time (R9). Index: installations_pkey.
UPDATE installations i
SET full_state_at = greatest(i.full_state_at, :observed_at)
WHERE i.scope_id = :scope AND i.installation_hash = :installation;

-- name: installations.read-running-activities
-- The installation's activities that have not ended. Index: activities_of_installation.
SELECT a.activity_id
FROM activities a
WHERE a.scope_id = :scope AND a.installation_hash = :installation AND a.ended_at IS NULL
LIMIT :limit;

-- name: installations.read-running-page
-- One page of the installation's running activities that had started by a log-out. Index: activities_of_installation.
SELECT a.activity_id, a.activity_key
FROM activities a
WHERE a.scope_id = :scope AND a.installation_hash = :installation AND a.ended_at IS NULL AND a.activity_key > :after
    AND a.expires_at > now() AND a.started_at <= :started_by
ORDER BY a.activity_key
LIMIT :limit;
