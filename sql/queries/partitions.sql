-- The partitions of the audit trail: one for each day on which its events may be dropped.

-- name: partitions.lock
-- Locks the changes of partitions until the end of the transaction; false if another instance has the lock.
SELECT pg_try_advisory_xact_lock(hashtext('pushreg event partitions'), 'events'::regclass::oid::int) AS is_ours;

-- name: partitions.find-missing
-- Finds the names of missing partitions for events of today and the coming days: each retention needs its own days. A day with events
-- that came before its partition stays in the default one, which is read whole.
-- Reads many rows.
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
-- Finds the names of the partitions that may be dropped.
SELECT c.relname::text AS name
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{8}$'
    AND to_date(substr(c.relname, 8), 'YYYYMMDD') <= current_date
ORDER BY c.relname;

-- name: partitions.find-scopes
-- Finds the scopes with events that came before their partition and may be deleted. Not from the table of scopes, which has none for
-- root's events.
SELECT DISTINCT e.scope_id FROM events_default e WHERE e.drop_on <= current_date;

-- name: partitions.read-last-past
-- Reads the greatest number of a scope's events that may be dropped; null if there are none. Index: events_pkey.
SELECT max(e.event_number) AS last FROM events e WHERE e.scope_id = :scope AND e.drop_on <= current_date;

-- name: partitions.record-loss
-- Stores the number up to which events of a scope are dropped, before they are. Indexes: scopes_pkey, apps_pkey.
UPDATE apps a
SET events_dropped_to = :last
FROM scopes s
WHERE s.scope_id = :scope AND a.app_id = s.app_id AND a.events_dropped_to < :last;

-- name: partitions.delete-past
-- Deletes a page of a scope's events that came before their partition. By number: a row's place does not show Citus the scope.
-- Index: events_pkey.
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
