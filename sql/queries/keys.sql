-- API keys with their apps. Omits keys of deleted apps, even while their rows remain.

-- name: keys.find
-- Finds keys by id. Indexes: api_keys_by_id, apps_pkey.
SELECT k.*, app.bundle_id
FROM api_keys k
LEFT JOIN apps app ON app.app_id = k.app_id
WHERE k.key_id = ANY(:ids) AND (k.app_id = 0 OR app.app_id IS NOT NULL);

-- name: keys.list
SELECT k.*, app.bundle_id
FROM api_keys k
LEFT JOIN apps app ON app.app_id = k.app_id
WHERE (k.app_id = 0 OR app.app_id IS NOT NULL) AND (:app::bigint IS NULL OR k.app_id = :app)
ORDER BY app.bundle_id NULLS FIRST, k.created_at, k.key_id;

-- name: keys.insert
-- Stores a key, unless the app was deleted. Index: apps_pkey.
INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
SELECT :app, :id, :role::text::api_key_role, :digest, :name, :expires_at
FROM apps app
WHERE app.app_id = :app
FOR KEY SHARE;

-- name: keys.insert-root
-- Stores a root key. This is a separate query, because for a combined query Citus returns no row and no error.
INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
VALUES (0, :id, :role::text::api_key_role, :digest, :name, :expires_at);

-- name: keys.insert-events
-- Writes an event in both scopes of the app, or in scope 0 for a root key, if this transaction created or revoked the
-- key: the change then has the time now(). Indexes: api_keys_pkey, apps_pkey, scopes_app_key.
INSERT INTO events (scope_id, drop_on, type, who, key_id)
SELECT coalesce(s.scope_id, 0), (now() + coalesce(app.event_retention, '90 days'))::date + 1, :type, :who, k.key_id
FROM api_keys k
LEFT JOIN apps app ON app.app_id = k.app_id
LEFT JOIN scopes s ON s.app_id = app.app_id
WHERE k.app_id = :app AND k.key_id = :id
    AND CASE :type WHEN 'key-created' THEN k.created_at WHEN 'key-revoked' THEN k.revoked_at END = now();

-- name: keys.revoke
-- Revokes a key; always writes (R1). Keeps the earlier time by least(): Citus rejects coalesce. Index: api_keys_pkey.
UPDATE api_keys k
SET revoked_at = least(k.revoked_at, now())
WHERE k.app_id = :app AND k.key_id = :id;

-- name: keys.record-use
-- Records a key's use; keeps a later stored time. Index: api_keys_pkey.
UPDATE api_keys k
SET last_used_at = greatest(k.last_used_at, :time)
WHERE k.app_id = :app AND k.key_id = :id;
