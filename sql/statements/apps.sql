-- apps, 1: $1 text[]
SELECT stored.app_number, stored.bundle_id, stored.name, stored.activity_lifetime, stored.tombstone_retention, stored.event_retention, stored.alias_rules, stored.jwt, stored.created_at, stored.updated_at FROM apps stored WHERE stored.bundle_id = ANY($1);

-- apps, 2
SELECT stored.app_number, stored.bundle_id, stored.name, stored.activity_lifetime, stored.tombstone_retention, stored.event_retention, stored.alias_rules, stored.jwt, stored.created_at, stored.updated_at FROM apps stored ORDER BY stored.bundle_id;

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
RETURNING stored.app_number, stored.bundle_id, stored.name, stored.activity_lifetime, stored.tombstone_retention, stored.event_retention, stored.alias_rules, stored.jwt, stored.created_at, stored.updated_at, stored.xmax = 0;

-- apps, 4: $1 text, $2 text, $3 text
INSERT INTO events (app_number, drop_on, type, who)
SELECT app.app_number, (now() + app.event_retention)::date + 1, $1, $2
FROM apps app WHERE app.bundle_id = $3;
