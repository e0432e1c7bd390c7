-- keys, 1: $1 text[]
SELECT stored.key_id, stored.app_number, app.bundle_id, stored.name, stored.created_at, stored.expires_at, stored.last_used_at, stored.revoked_at, stored.secret_digest FROM api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number WHERE (stored.app_number = 0 OR app.app_number IS NOT NULL) AND stored.key_id = ANY($1);

-- keys, 2: $1 bigint
SELECT stored.key_id, stored.app_number, app.bundle_id, stored.name, stored.created_at, stored.expires_at, stored.last_used_at, stored.revoked_at, stored.secret_digest FROM api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number WHERE (stored.app_number = 0 OR app.app_number IS NOT NULL) AND stored.app_number = $1
ORDER BY stored.created_at, stored.key_id;

-- keys, 3
SELECT stored.key_id, stored.app_number, app.bundle_id, stored.name, stored.created_at, stored.expires_at, stored.last_used_at, stored.revoked_at, stored.secret_digest FROM api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number WHERE (stored.app_number = 0 OR app.app_number IS NOT NULL)
ORDER BY app.bundle_id NULLS FIRST, stored.created_at, stored.key_id;

-- keys, 4: $1 bigint, $2 text, $3 text, $4 bytea, $5 text, $6 timestamp with time zone, $7 bigint
INSERT INTO api_keys (app_number, key_id, role, secret_digest, name, expires_at)
SELECT $1, $2, $3::api_key_role, $4, $5,
    $6
FROM apps app WHERE app.app_number = $7 FOR KEY SHARE;

-- keys, 5: $1 bigint, $2 text, $3 text, $4 bytea, $5 text, $6 timestamp with time zone
INSERT INTO api_keys (app_number, key_id, role, secret_digest, name, expires_at)
SELECT $1, $2, $3::api_key_role, $4, $5,
    $6;

-- keys, 6: $1 text, $2 text, $3 bigint, $4 text
INSERT INTO events (app_number, drop_on, type, who, key_id)
SELECT stored.app_number, (now() + coalesce(app.event_retention, '90 days'))::date + 1, $1, $2,
    stored.key_id
FROM api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number
WHERE stored.app_number = $3 AND stored.key_id = $4 AND stored.created_at = now();

-- keys, 7: $1 bigint, $2 text
UPDATE api_keys SET revoked_at = least(revoked_at, now())
WHERE app_number = $1 AND key_id = $2;

-- keys, 8: $1 text, $2 text, $3 bigint, $4 text
INSERT INTO events (app_number, drop_on, type, who, key_id)
SELECT stored.app_number, (now() + coalesce(app.event_retention, '90 days'))::date + 1, $1, $2,
    stored.key_id
FROM api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number
WHERE stored.app_number = $3 AND stored.key_id = $4 AND stored.revoked_at = now();

-- keys, 9: $1 timestamp with time zone, $2 bigint, $3 text
UPDATE api_keys SET last_used_at = greatest(last_used_at, $1)
WHERE app_number = $2 AND key_id = $3;
