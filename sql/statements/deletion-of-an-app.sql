-- deletion of an app, 1: $1 text
WITH deleted AS (DELETE FROM apps WHERE bundle_id = $1 RETURNING app_id)
INSERT INTO deleted_apps (app_id) SELECT deleted.app_id FROM deleted RETURNING app_id;

-- deletion of an app, 2
SELECT app_id FROM deleted_apps ORDER BY app_id;

-- deletion of an app, 3: $1 bigint
SELECT scope_id FROM scopes WHERE app_id = $1;

-- deletion of an app, 4
SELECT pg_relation_size('activities') / current_setting('block_size')::int8;

-- deletion of an app, 5: $1 bigint, $2 text, $3 text
DELETE FROM activity_aliases d WHERE d.scope_id = $1 AND d.ctid >= $2::text::tid
AND d.ctid < $3::text::tid;

-- deletion of an app, 6: $1 bigint, $2 text, $3 text
DELETE FROM token_values d WHERE d.scope_id = $1 AND d.ctid >= $2::text::tid
AND d.ctid < $3::text::tid;

-- deletion of an app, 7: $1 bigint, $2 text, $3 text
DELETE FROM activities d WHERE d.scope_id = $1 AND d.ctid >= $2::text::tid
AND d.ctid < $3::text::tid;

-- deletion of an app, 8: $1 bigint, $2 text, $3 text
DELETE FROM erasures d WHERE d.scope_id = $1 AND d.ctid >= $2::text::tid
AND d.ctid < $3::text::tid;

-- deletion of an app, 9: $1 bigint, $2 text, $3 text
DELETE FROM start_leases d WHERE d.scope_id = $1 AND d.ctid >= $2::text::tid
AND d.ctid < $3::text::tid;

-- deletion of an app, 10: $1 bigint, $2 bigint
DELETE FROM alias_identities WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM alias_identities WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 11: $1 bigint, $2 bigint
DELETE FROM installation_tokens WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM installation_tokens WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 12: $1 bigint, $2 bigint
DELETE FROM installation_aliases WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM installation_aliases WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 13: $1 bigint, $2 bigint
DELETE FROM installations WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM installations WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 14: $1 bigint, $2 bigint
DELETE FROM channels WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM channels WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 15: $1 bigint, $2 bigint
DELETE FROM channel_quotas WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM channel_quotas WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 16: $1 bigint, $2 bigint
DELETE FROM quarantine_guards WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM quarantine_guards WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 17: $1 bigint, $2 bigint
DELETE FROM events WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM events WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 18: $1 bigint, $2 bigint
DELETE FROM counts WHERE scope_id = $1 AND (tableoid, ctid) IN (
    SELECT tableoid, ctid FROM counts WHERE scope_id = $2 LIMIT 10000
);

-- deletion of an app, 19: $1 bigint
DELETE FROM api_keys WHERE app_id = $1;

-- deletion of an app, 20: $1 bigint
DELETE FROM deleted_apps WHERE app_id = $1 AND deleted_at <= now() - interval '1 minute';

-- deletion of an app, 21: $1 bigint
DELETE FROM scopes WHERE app_id = $1;
