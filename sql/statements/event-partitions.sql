-- event partitions, 1
SELECT pg_try_advisory_xact_lock(hashtext('pushreg event partitions'), 'events'::regclass::oid::int);

-- event partitions, 2
WITH begun AS MATERIALIZED (SELECT DISTINCT e.drop_on FROM events_default e)
SELECT wanted.name FROM (
    SELECT DISTINCT days.day, 'events_' || to_char(days.day, 'YYYYMMDD') AS name
    FROM (SELECT a.event_retention FROM apps a) AS kept (event_retention)
    CROSS JOIN generate_series(0, 3) AS ahead (days)
    CROSS JOIN LATERAL (SELECT (now() + kept.event_retention)::date + 1 + ahead.days AS day) AS days
) AS wanted
WHERE to_regclass(wanted.name) IS NULL AND wanted.day NOT IN (SELECT b.drop_on FROM begun b)
ORDER BY wanted.name;

-- event partitions, 3: $1 interval, $2 text, $3 interval
WITH begun AS MATERIALIZED (SELECT DISTINCT e.drop_on FROM events_default e)
SELECT wanted.name FROM (
    SELECT DISTINCT days.day, 'events_' || to_char(days.day, 'YYYYMMDD') AS name
    FROM (SELECT coalesce($1, (SELECT a.event_retention FROM apps a WHERE a.bundle_id = $2),
    $3)) AS kept (event_retention)
    CROSS JOIN generate_series(0, 0) AS ahead (days)
    CROSS JOIN LATERAL (SELECT (now() + kept.event_retention)::date + 1 + ahead.days AS day) AS days
) AS wanted
WHERE to_regclass(wanted.name) IS NULL AND wanted.day NOT IN (SELECT b.drop_on FROM begun b)
ORDER BY wanted.name;

-- event partitions, 4
SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{8}$'
    AND to_date(substr(c.relname, 8), 'YYYYMMDD') <= current_date
ORDER BY c.relname;

-- event partitions, 5
SELECT DISTINCT scope_id FROM events_default WHERE drop_on <= current_date;

-- event partitions, 6: $1 bigint, $2 bigint
DELETE FROM events_default e WHERE e.scope_id = $1 AND e.drop_on <= current_date AND e.event_number <= (
    SELECT max(page.event_number) FROM (
        SELECT past.event_number FROM events_default past
        WHERE past.scope_id = $2 AND past.drop_on <= current_date
        ORDER BY past.event_number LIMIT 10000
    ) AS page
);

-- event partitions, 7: $1 bigint
SELECT max(past.event_number) FROM events_default past
WHERE past.scope_id = $1 AND past.drop_on <= current_date;

-- event partitions, 8: $1 bigint, $2 bigint, $3 bigint
UPDATE apps a SET events_dropped_to = $1 FROM scopes s
WHERE s.scope_id = $2 AND a.app_id = s.app_id AND a.events_dropped_to < $3;
