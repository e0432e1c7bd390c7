-- Apps and the deletion of an app, whose rows follow in small transactions.

-- name: apps.find
-- Finds apps by their bundle ids. Each scope is a lookup of its own: joined, all scopes would be read by a plan from a time with few.
-- Indexes: apps_bundle_id_key, scopes_app_key.
SELECT a.app_id,
    (SELECT s.scope_id FROM scopes s WHERE s.app_id = a.app_id AND s.environment = 'sandbox') AS sandbox,
    (SELECT s.scope_id FROM scopes s WHERE s.app_id = a.app_id AND s.environment = 'production') AS production,
    a.bundle_id, a.name, a.activity_lifetime, a.tombstone_retention, a.event_retention, a.alias_rules, a.jwt,
    a.created_at, a.updated_at
FROM apps a
WHERE a.bundle_id = ANY(:bundle_ids);

-- name: apps.list
SELECT a.app_id,
    (SELECT s.scope_id FROM scopes s WHERE s.app_id = a.app_id AND s.environment = 'sandbox') AS sandbox,
    (SELECT s.scope_id FROM scopes s WHERE s.app_id = a.app_id AND s.environment = 'production') AS production,
    a.bundle_id, a.name, a.activity_lifetime, a.tombstone_retention, a.event_retention, a.alias_rules, a.jwt,
    a.created_at, a.updated_at
FROM apps a
ORDER BY a.bundle_id;

-- name: apps.insert
-- Creates an app; no row if there is one. Index: apps_bundle_id_key.
INSERT INTO apps (bundle_id, name, activity_lifetime, tombstone_retention, event_retention, alias_rules, jwt)
VALUES (
    :bundle_id, :name, :activity_lifetime, :tombstone_retention, :event_retention, :alias_rules, :jwt
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
    alias_rules = coalesce(:alias_rules, a.alias_rules), jwt = coalesce(:jwt, a.jwt), updated_at = now()
WHERE a.bundle_id = :bundle_id;

-- name: apps.insert-events
-- Writes an event in each of the app's scopes. Indexes: apps_bundle_id_key, scopes_app_key.
INSERT INTO events (scope_id, drop_on, type, who)
SELECT s.scope_id, (now() + app.event_retention)::date + 1, :type, :who
FROM apps app
JOIN scopes s ON s.app_id = app.app_id
WHERE app.bundle_id = :bundle_id;

-- name: apps.delete
-- Deletes the app itself, and remembers that rows of it are left. Index: apps_bundle_id_key.
WITH deleted AS (DELETE FROM apps a WHERE a.bundle_id = :bundle_id RETURNING a.app_id)
INSERT INTO deleted_apps (app_id) SELECT deleted.app_id FROM deleted
RETURNING app_id;

-- name: apps.list-deleted
-- The deleted apps that may still have rows.
SELECT d.app_id FROM deleted_apps d ORDER BY d.app_id;

-- name: apps.list-scopes
-- Index: scopes_app_key.
SELECT s.scope_id FROM scopes s WHERE s.app_id = :app;

-- name: apps.count-pages
-- Counts the pages of a table.
SELECT pg_relation_size(:table::text::regclass) / current_setting('block_size')::int8 AS count;

-- name: apps.delete-keys
-- Index: api_keys_pkey.
DELETE FROM api_keys k WHERE k.app_id = :app;

-- name: apps.finish-deletion
-- Waits until no other instance uses the app and writes its rows: a later sweep looks again. Index: deleted_apps_pkey.
DELETE FROM deleted_apps d WHERE d.app_id = :app AND d.deleted_at <= now() - interval '1 minute';

-- name: apps.delete-scopes
-- Index: scopes_app_key.
DELETE FROM scopes s WHERE s.app_id = :app;

-- name: apps.exists
-- Index: apps_pkey.
SELECT EXISTS (SELECT FROM apps a WHERE a.app_id = :app) AS exists;
