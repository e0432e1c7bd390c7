-- keys, 1: $1 text[]
SELECT stored.key_id, stored.app_id, app.bundle_id, stored.name, stored.created_at, stored.expires_at, stored.last_used_at, stored.revoked_at, stored.secret_digest FROM api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id WHERE (stored.app_id = 0 OR app.app_id IS NOT NULL) AND stored.key_id = ANY($1);

-- keys, 2: $1 bigint
SELECT stored.key_id, stored.app_id, app.bundle_id, stored.name, stored.created_at, stored.expires_at, stored.last_used_at, stored.revoked_at, stored.secret_digest FROM api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id WHERE (stored.app_id = 0 OR app.app_id IS NOT NULL) AND stored.app_id = $1
ORDER BY stored.created_at, stored.key_id;

-- keys, 3
SELECT stored.key_id, stored.app_id, app.bundle_id, stored.name, stored.created_at, stored.expires_at, stored.last_used_at, stored.revoked_at, stored.secret_digest FROM api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id WHERE (stored.app_id = 0 OR app.app_id IS NOT NULL)
ORDER BY app.bundle_id NULLS FIRST, stored.created_at, stored.key_id;

-- keys, 4: $1 bigint, $2 text, $3 text, $4 bytea, $5 text, $6 timestamp with time zone, $7 bigint
INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
SELECT $1, $2, $3::api_key_role, $4, $5,
    $6
FROM apps app WHERE app.app_id = $7 FOR KEY SHARE;

-- keys, 5: $1 bigint, $2 text, $3 text, $4 bytea, $5 text, $6 timestamp with time zone
INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
SELECT $1, $2, $3::api_key_role, $4, $5,
    $6;

-- keys, 6: $1 text, $2 text, $3 bigint, $4 text
INSERT INTO events (scope_id, drop_on, type, who, key_id)
SELECT coalesce(s.scope_id, 0), (now() + coalesce(app.event_retention, '90 days'))::date + 1, $1, $2,
    stored.key_id
FROM api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id
LEFT JOIN scopes s ON s.app_id = app.app_id
WHERE stored.app_id = $3 AND stored.key_id = $4 AND stored.created_at = now();

-- keys, 7: $1 bigint, $2 text
UPDATE api_keys SET revoked_at = least(revoked_at, now())
WHERE app_id = $1 AND key_id = $2;

-- keys, 8: $1 text, $2 text, $3 bigint, $4 text
INSERT INTO events (scope_id, drop_on, type, who, key_id)
SELECT coalesce(s.scope_id, 0), (now() + coalesce(app.event_retention, '90 days'))::date + 1, $1, $2,
    stored.key_id
FROM api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id
LEFT JOIN scopes s ON s.app_id = app.app_id
WHERE stored.app_id = $3 AND stored.key_id = $4 AND stored.revoked_at = now();

-- keys, 9: $1 timestamp with time zone, $2 bigint, $3 text
UPDATE api_keys SET last_used_at = greatest(last_used_at, $1)
WHERE app_id = $2 AND key_id = $3;
