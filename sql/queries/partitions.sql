-- The partitions of the audit trail, one for each day on which events expire.

-- name: partitions.lock
-- Locks changes of partitions until the transaction ends; false if another instance holds the lock.
SELECT pg_try_advisory_xact_lock(hashtext('pushreg event partitions'), 'events'::regclass::oid::int) AS is_ours;

-- name: partitions.find-missing
-- Finds the missing partitions that each retention needs today and in the coming days. A day with events in the default
-- partition stays there. Reads many rows: the default partition.
WITH begun AS MATERIALIZED (SELECT DISTINCT e.drop_on FROM events_default e)
SELECT wanted.name
FROM (
    SELECT DISTINCT days.day, 'events_' || to_char(days.day, 'YYYYMMDD') AS name
    FROM unnest(:retentions::interval[]) AS kept (retention)
    CROSS JOIN generate_series(0, :days_ahead::bigint::integer) AS ahead (days)
    CROSS JOIN LATERAL (SELECT (now() + kept.retention)::date + 1 + ahead.days AS day) AS days
) AS wanted
WHERE to_regclass(wanted.name) IS NULL AND wanted.day NOT IN (SELECT b.drop_on FROM begun b)
ORDER BY wanted.name;

-- name: partitions.find-past
SELECT c.relname::text AS name
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{8}$'
    AND to_date(substr(c.relname, 8), 'YYYYMMDD') <= current_date
ORDER BY c.relname;

-- name: partitions.find-scopes
-- Finds scopes with expired events in the default partition. Does not read the scopes table, because it has no scope
-- for root keys.
SELECT DISTINCT e.scope_id FROM events_default e WHERE e.drop_on <= current_date;

-- name: partitions.read-last-past
-- The greatest number of a scope's expired events, or null. Index: events_pkey.
SELECT max(e.event_number) AS last FROM events e WHERE e.scope_id = :scope AND e.drop_on <= current_date;

-- name: partitions.record-loss
-- Stores the number up to which a scope's events are dropped, before they are. Indexes: scopes_pkey, apps_pkey.
UPDATE apps a
SET events_dropped_to = :last
FROM scopes s
WHERE s.scope_id = :scope AND a.app_id = s.app_id AND a.events_dropped_to < :last;

-- name: partitions.delete-past
-- Deletes a page of a scope's expired events in the default partition. By number, because a ctid does not show Citus
-- the scope. Index: events_pkey.
DELETE FROM events_default e
WHERE e.scope_id = :scope AND e.drop_on <= current_date AND e.event_number <= (
    SELECT max(page.event_number)
    FROM (
        SELECT past.event_number
        FROM events_default past
        WHERE past.scope_id = :scope AND past.drop_on <= current_date
        ORDER BY past.event_number
        LIMIT 10000
    ) AS page
);
