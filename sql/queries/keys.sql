-- API keys with their apps. Keys of a deleted app are left out, even while their rows remain.

-- name: keys.find
-- Finds keys by their ids. Indexes: api_keys_by_id, apps_pkey.
SELECT k.*, app.bundle_id
FROM api_keys k
LEFT JOIN apps app ON app.app_id = k.app_id
WHERE k.key_id = ANY(:ids) AND (k.app_id = 0 OR app.app_id IS NOT NULL);

-- name: keys.list-of-app
-- Index: api_keys_pkey.
SELECT k.*, app.bundle_id
FROM api_keys k
JOIN apps app ON app.app_id = k.app_id
WHERE k.app_id = :app
ORDER BY k.created_at, k.key_id;

-- name: keys.list
SELECT k.*, app.bundle_id
FROM api_keys k
LEFT JOIN apps app ON app.app_id = k.app_id
WHERE k.app_id = 0 OR app.app_id IS NOT NULL
ORDER BY app.bundle_id NULLS FIRST, k.created_at, k.key_id;

-- name: keys.insert
-- Stores nothing if the app was deleted meanwhile. Index: apps_pkey.
INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
SELECT :app, :id, :role::text::api_key_role, :digest, :name, :expires_at
FROM apps app
WHERE app.app_id = :app
FOR KEY SHARE;

-- name: keys.insert-root
-- A query of its own, because Citus answers a combined one with no row, without an error.
INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
VALUES (0, :id, :role::text::api_key_role, :digest, :name, :expires_at);

-- name: keys.insert-events
-- Writes an event in each of the app's scopes, for a root key in scope 0, if the transaction created or revoked the key: now() is the
-- time of the change then. Indexes: api_keys_pkey, apps_pkey, scopes_app_key.
INSERT INTO events (scope_id, drop_on, type, who, key_id)
SELECT coalesce(s.scope_id, 0), (now() + coalesce(app.event_retention, '90 days'))::date + 1, :type, :who, k.key_id
FROM api_keys k
LEFT JOIN apps app ON app.app_id = k.app_id
LEFT JOIN scopes s ON s.app_id = app.app_id
WHERE k.app_id = :app AND k.key_id = :id
    AND CASE :type WHEN 'key-created' THEN k.created_at WHEN 'key-revoked' THEN k.revoked_at END = now();

-- name: keys.revoke
-- Always writes (R1). The earlier time stays; Citus rejects a coalesce of an absent time. Index: api_keys_pkey.
UPDATE api_keys k
SET revoked_at = least(k.revoked_at, now())
WHERE k.app_id = :app AND k.key_id = :id;

-- name: keys.record-use
-- A later stored time stays. Index: api_keys_pkey.
UPDATE api_keys k
SET last_used_at = greatest(k.last_used_at, :time)
WHERE k.app_id = :app AND k.key_id = :id;
