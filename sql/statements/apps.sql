-- apps, 1: $1 text[]
SELECT stored.app_id, (SELECT s.scope_id FROM scopes s
WHERE s.app_id = stored.app_id AND s.environment = 'sandbox'), (SELECT s.scope_id FROM scopes s
WHERE s.app_id = stored.app_id AND s.environment = 'production'), stored.bundle_id, stored.name, stored.activity_lifetime, stored.tombstone_retention, stored.event_retention, stored.alias_rules, stored.jwt, stored.created_at, stored.updated_at FROM apps stored WHERE stored.bundle_id = ANY($1);

-- apps, 2
SELECT stored.app_id, (SELECT s.scope_id FROM scopes s
WHERE s.app_id = stored.app_id AND s.environment = 'sandbox'), (SELECT s.scope_id FROM scopes s
WHERE s.app_id = stored.app_id AND s.environment = 'production'), stored.bundle_id, stored.name, stored.activity_lifetime, stored.tombstone_retention, stored.event_retention, stored.alias_rules, stored.jwt, stored.created_at, stored.updated_at FROM apps stored ORDER BY stored.bundle_id;

-- apps, 3: $1 text, $2 text, $3 interval, $4 interval, $5 interval, $6 jsonb, $7 jsonb, $8 text, $9 interval, $10 interval, $11 interval, $12 jsonb, $13 jsonb
INSERT INTO apps AS stored (
    bundle_id, name, activity_lifetime, tombstone_retention, event_retention, alias_rules, jwt
)
VALUES ($1, $2,
    $3,
    $4,
    $5, coalesce($6, '{}'), $7)
ON CONFLICT (bundle_id) DO UPDATE SET name = coalesce($8, stored.name),
activity_lifetime = coalesce($9, stored.activity_lifetime),
tombstone_retention = coalesce($10, stored.tombstone_retention),
event_retention = coalesce($11, stored.event_retention),
alias_rules = coalesce($12, stored.alias_rules),
jwt = coalesce($13, stored.jwt), updated_at = excluded.updated_at
RETURNING stored.app_id, stored.xmax = 0;

-- apps, 4: $1 bigint, $2 bigint
INSERT INTO scopes (app_id, environment) VALUES ($1, 'sandbox'), ($2, 'production');

-- apps, 5: $1 text, $2 interval, $3 interval, $4 interval, $5 jsonb, $6 jsonb, $7 text
UPDATE apps AS stored SET name = coalesce($1, stored.name),
activity_lifetime = coalesce($2, stored.activity_lifetime),
tombstone_retention = coalesce($3, stored.tombstone_retention),
event_retention = coalesce($4, stored.event_retention),
alias_rules = coalesce($5, stored.alias_rules),
jwt = coalesce($6, stored.jwt), updated_at = now()
WHERE stored.bundle_id = $7;

-- apps, 6: $1 text, $2 text, $3 text
INSERT INTO events (scope_id, drop_on, type, who)
SELECT s.scope_id, (now() + app.event_retention)::date + 1, $1, $2
FROM apps app JOIN scopes s ON s.app_id = app.app_id
WHERE app.bundle_id = $3;
