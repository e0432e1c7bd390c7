-- move of an app, 1: $1 text[], $2 text[]
SELECT t.name, array_agg(a.attname::text ORDER BY a.attnum), coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attnum = ANY(k.indkey)), '{}'), max(a.attname::text) FILTER (WHERE a.attidentity <> '')
FROM unnest($1) AS t (name)
JOIN pg_attribute a ON a.attrelid = to_regclass(t.name) AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attname <> ALL($2)
JOIN pg_index k ON k.indrelid = a.attrelid AND k.indisprimary
GROUP BY t.name;

-- move of an app, 2
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- move of an app, 3
SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
    set_config('bytea_output', 'hex', true), set_config('intervalstyle', 'postgres', true);

-- move of an app, 4: $1 text
SELECT app_number FROM apps WHERE bundle_id = $1;

-- move of an app, 5: $1 bigint
DECLARE moved NO SCROLL CURSOR FOR
SELECT (
    SELECT jsonb_object_agg(field.key, field.value)
    FROM jsonb_each(to_jsonb(r) - ARRAY['app_number', 'events_dropped_to']) AS field
    WHERE field.value <> 'null'
)
FROM channels r WHERE r.app_number = $1;

-- move of an app, 6
FETCH 1000 FROM moved;

-- move of an app, 7
CLOSE moved;

-- move of an app, 8
INSERT INTO deleted_apps (app_number, deleted_at)
VALUES (nextval(pg_get_serial_sequence('apps', 'app_number')), now() + interval '1 day') RETURNING app_number;

-- move of an app, 9: $1 bigint
UPDATE deleted_apps SET deleted_at = now() + interval '1 day' WHERE app_number = $1 AND deleted_at > now();

-- move of an app, 10: $1 bigint
UPDATE deleted_apps SET deleted_at = now() WHERE app_number = $1 AND deleted_at > now();

-- move of an app, 11: $1 text[]
SELECT count(*) FROM unnest($1) AS given (line)
WHERE given.line::jsonb - 'channels' <> '{}'
    OR (given.line::jsonb -> 'channels') - ARRAY['kind', 'value'] <> '{}';

-- move of an app, 12: $1 text[]
SELECT count(to_jsonb(r)) FROM unnest($1) WITH ORDINALITY AS given (line, place)
CROSS JOIN LATERAL jsonb_populate_record(
    NULL::channels, given.line::jsonb -> 'channels'
) AS r;

-- move of an app, 13: $1 bigint, $2 text[]
INSERT INTO channels (app_number, kind, value)
OVERRIDING SYSTEM VALUE
SELECT $1, r.kind, r.value
FROM unnest($2) WITH ORDINALITY AS given (line, place)
CROSS JOIN LATERAL jsonb_populate_record(
    NULL::channels, given.line::jsonb -> 'channels'
) AS r
ON CONFLICT DO NOTHING;

-- move of an app, 14: $1 bigint, $2 text[], $3 text
INSERT INTO channels (app_number, kind, value)
OVERRIDING SYSTEM VALUE
SELECT $1, r.kind, r.value
FROM unnest($2) WITH ORDINALITY AS given (line, place)
CROSS JOIN LATERAL jsonb_populate_record(
    NULL::channels, given.line::jsonb -> 'channels'
) AS r WHERE r.bundle_id = $3
ON CONFLICT (bundle_id) DO NOTHING;

-- move of an app, 15: $1 bigint
DELETE FROM deleted_apps WHERE app_number = $1 AND deleted_at > now();

-- move of an app, 16: $1 text[], $2 bigint
SELECT given.place FROM unnest($1) WITH ORDINALITY AS given (line, place)
CROSS JOIN LATERAL jsonb_populate_record(
    NULL::channels, given.line::jsonb -> 'channels'
) AS r
WHERE NOT EXISTS (
    SELECT FROM channels t
    WHERE t.app_number = $2 AND t.kind = r.kind AND t.value = r.value
        AND to_jsonb(t) - ARRAY['app_number', 'events_dropped_to']
            = to_jsonb(r) - ARRAY['app_number', 'events_dropped_to']
)
ORDER BY given.place LIMIT 1;

-- move of an app, 17
SELECT set_config('statement_timeout', '0', true);

-- move of an app, 18: $1 bigint
SELECT count(*), max(r.activity_number)
FROM activities r WHERE r.app_number = $1;

-- move of an app, 19: $1 bigint
SELECT s.last_value < $1 FROM activities_activity_number_seq s;

-- move of an app, 20
LOCK TABLE activities IN SHARE ROW EXCLUSIVE MODE;

-- move of an app, 21: $1 bigint, $2 bigint
SELECT setval('activities_activity_number_seq', $1) FROM activities_activity_number_seq s WHERE s.last_value < $2;
