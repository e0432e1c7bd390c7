-- The audit trail, newest first. Events that an index finds are read at once. All others are looked for in ranges of event numbers,
-- so that no call reads the whole trail, however few events it asks for.

-- name: events.prefer-indexes
-- For the rest of the transaction, tables are not read whole. The planner judges the trail's summary by how sorted a column is,
-- and hashes are not.
SELECT set_config('enable_seqscan', 'off', true);

-- name: events.limit-time
-- For the rest of the transaction a statement has two seconds, which leaves time for another.
SELECT set_config('statement_timeout', '2000', true);

-- name: events.read-of-activity
-- One page of the events of an activity. Hashes of ids may collide, so the id is compared, too. By equality of the hash alone, the
-- order would be that of the numbers, and the planner would rather go through the trail from its end. A scope that is not numeric
-- would add all of its events from events_pkey. Index: events_of_activity.
SELECT e.*
FROM events e
WHERE e.scope_id = :scope::bigint::numeric AND e.activity_id = :activity
    AND hashtextextended(e.activity_id, 0) >= hashtextextended(:activity, 0)
    AND (hashtextextended(e.activity_id, 0), e.event_number) < (hashtextextended(:activity, 0), :before)
    AND (:installation::bytea IS NULL OR e.installation_hash = :installation)
    AND (:subject::text IS NULL OR e.subject = :subject)
    AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
    AND (:type::text IS NULL OR e.type = :type)
    AND (:since::timestamptz IS NULL OR e.recorded_at >= :since)
    AND (:until::timestamptz IS NULL OR e.recorded_at < :until)
ORDER BY hashtextextended(e.activity_id, 0) DESC, e.event_number DESC
LIMIT :limit;

-- name: events.read-rare
-- One page of the events of a type that few requests write. The order is that of the index, as above. Index: events_rare.
SELECT e.*
FROM events e
WHERE e.scope_id = :scope AND e.type NOT IN ('registered', 'rotated', 'ended', 'expired', 'dismissed')
    AND e.type >= :type AND (e.type, e.event_number) < (:type, :before)
    AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
    AND (:since::timestamptz IS NULL OR e.recorded_at >= :since)
    AND (:until::timestamptz IS NULL OR e.recorded_at < :until)
ORDER BY e.type DESC, e.event_number DESC
LIMIT :limit;

-- name: events.read-of-installation
-- One page of the events of an installation. Runs after events.prefer-indexes. The summary of the trail finds all of them before the
-- sort: no other index fits a numeric scope and a number inside IS TRUE. Index: events_summary. Reads many rows: all of the pages
-- that the summary names.
WITH found AS MATERIALIZED (
    SELECT e.*
    FROM events e
    WHERE e.scope_id = :scope::bigint::numeric AND e.installation_hash = :installation AND (e.event_number < :before) IS TRUE
        AND (:subject::text IS NULL OR e.subject = :subject)
        AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
        AND (:type::text IS NULL OR e.type = :type)
        AND e.recorded_at >= coalesce(:since::timestamptz, '-infinity')
        AND e.recorded_at < coalesce(:until::timestamptz, 'infinity')
)
SELECT e.* FROM found e ORDER BY e.event_number DESC LIMIT :limit;

-- name: events.read-of-subject
-- One page of the events of a user, found in the same way. Runs after events.prefer-indexes. Index: events_summary. Reads many rows.
WITH found AS MATERIALIZED (
    SELECT e.*
    FROM events e
    WHERE e.scope_id = :scope::bigint::numeric AND e.subject = :subject AND (e.event_number < :before) IS TRUE
        AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
        AND (:type::text IS NULL OR e.type = :type)
        AND e.recorded_at >= coalesce(:since::timestamptz, '-infinity')
        AND e.recorded_at < coalesce(:until::timestamptz, 'infinity')
)
SELECT e.* FROM found e ORDER BY e.event_number DESC LIMIT :limit;

-- name: events.read-range
-- One page of the events that are asked for, in a range of event numbers. Index: events_pkey. Reads many rows: the range.
SELECT e.*
FROM events e
WHERE e.scope_id = :scope AND e.event_number >= :first AND e.event_number < :before
    AND (:activity::text IS NULL OR e.activity_id = :activity)
    AND (:installation::bytea IS NULL OR e.installation_hash = :installation)
    AND (:subject::text IS NULL OR e.subject = :subject)
    AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
    AND (:type::text IS NULL OR e.type = :type)
    AND (:since::timestamptz IS NULL OR e.recorded_at >= :since)
    AND (:until::timestamptz IS NULL OR e.recorded_at < :until)
ORDER BY e.event_number DESC
LIMIT :limit;

-- name: events.find-range
-- The lower end of the next range, its number of events, and when the latest of them was recorded. Index: events_pkey.
-- Reads many rows: the range.
SELECT min(s.event_number) AS first, count(*) AS count, max(s.recorded_at) AS latest
FROM (
    SELECT e.event_number, e.recorded_at
    FROM events e
    WHERE e.scope_id = :scope AND e.event_number < :before
    ORDER BY e.event_number DESC
    LIMIT :size
) AS s;

-- name: events.find-end
-- The first number above all events recorded before a time. Numbers grow with time except for overlapping transactions, which
-- last less than an hour. Index: events_summary. Reads many rows: an hour of events.
SELECT min(e.event_number) AS number
FROM events e
WHERE e.scope_id = :scope AND e.recorded_at > :time::timestamptz + interval '1 hour'
    AND e.recorded_at < :time::timestamptz + interval '2 hours';
