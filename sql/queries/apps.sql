-- Apps, and the deletion of an app in small transactions.

-- name: apps.find
-- Finds apps by bundle id. Indexes: apps_bundle_id_key, scopes_app_key.
SELECT a.*
FROM app_records a
WHERE a.bundle_id = ANY(:bundle_ids);

-- name: apps.list
SELECT a.*
FROM app_records a
ORDER BY a.bundle_id;

-- name: apps.insert
-- Creates an app; no row if it exists. Index: apps_bundle_id_key.
INSERT INTO apps (
    bundle_id, name, activity_lifetime, tombstone_retention, event_retention, alias_rules, token_kinds, jwt
)
VALUES (
    :bundle_id, :name, :activity_lifetime, :tombstone_retention, :event_retention, :alias_rules, :token_kinds, :jwt
)
ON CONFLICT (bundle_id) DO NOTHING
RETURNING app_id;

-- name: apps.insert-scopes
INSERT INTO scopes (app_id, environment) VALUES (:app, 'sandbox'), (:app, 'production');

-- name: apps.update
-- Changes the settings that are not null. Index: apps_bundle_id_key.
UPDATE apps a
SET name = coalesce(:name, a.name), activity_lifetime = coalesce(:activity_lifetime, a.activity_lifetime),
    tombstone_retention = coalesce(:tombstone_retention, a.tombstone_retention),
    event_retention = coalesce(:event_retention, a.event_retention),
    alias_rules = coalesce(:alias_rules, a.alias_rules), token_kinds = coalesce(:token_kinds, a.token_kinds),
    jwt = coalesce(:jwt, a.jwt), updated_at = now()
WHERE a.bundle_id = :bundle_id;

-- name: apps.find-used-kinds
-- Returns the given kinds that have tokens. Index: installation_tokens_of_number.
SELECT q.kind
FROM unnest(:kinds::text[]) AS q (kind)
CROSS JOIN LATERAL (
    SELECT FROM installation_tokens r
    WHERE r.scope_id = :scope AND r.kind = q.kind AND r.token_number > 0 AND r.token IS NOT NULL
    LIMIT 1
) AS used;

-- name: apps.insert-events
-- Writes an event in both scopes of an app. Indexes: apps_bundle_id_key, scopes_app_key.
INSERT INTO events (scope_id, drop_on, type, who)
SELECT s.scope_id, (now() + app.event_retention)::date + 1, :type, :who
FROM apps app
JOIN scopes s ON s.app_id = app.app_id
WHERE app.bundle_id = :bundle_id;

-- name: apps.delete
-- Deletes the app itself and records that its rows remain. Index: apps_bundle_id_key.
WITH deleted AS (DELETE FROM apps a WHERE a.bundle_id = :bundle_id RETURNING a.app_id)
INSERT INTO deleted_apps (app_id) SELECT deleted.app_id FROM deleted
RETURNING app_id;

-- name: apps.list-deleted
SELECT d.app_id FROM deleted_apps d ORDER BY d.app_id;

-- name: apps.list-scopes
-- Lists an app's scopes. Index: scopes_app_key.
SELECT s.scope_id FROM scopes s WHERE s.app_id = :app;

-- name: apps.count-pages
SELECT pg_relation_size(:table::text::regclass) / current_setting('block_size')::int8 AS count;

-- name: apps.delete-keys
-- Deletes an app's keys. Index: api_keys_pkey.
DELETE FROM api_keys k WHERE k.app_id = :app;

-- name: apps.finish-deletion
-- Ends a deletion and deletes the scopes after a minute, when no instance uses the app any more. Until then, a later
-- sweep retries. Indexes: deleted_apps_pkey, scopes_app_key.
WITH finished AS (
    DELETE FROM deleted_apps d WHERE d.app_id = :app AND d.deleted_at <= now() - interval '1 minute' RETURNING d.app_id
)
DELETE FROM scopes s WHERE s.app_id IN (SELECT f.app_id FROM finished f);
