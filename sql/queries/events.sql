-- Events with an index are read at once. Others are searched in ranges of numbers, so that no call reads the whole
-- trail.

-- name: events.prefer-indexes
-- Disables sequential scans in this transaction. The planner estimates the trail's summary by how sorted a column is,
-- but hashes are not sorted.
SELECT set_config('enable_seqscan', 'off', true);

-- name: events.limit-time
-- Limits each further statement of the transaction to two seconds, which leaves time for another.
SELECT set_config('statement_timeout', '2000', true);

-- name: events.read-of-activity
-- One page of an activity's events. Compares the id too, because hashes may collide. All of them are found before the
-- sort, because events_pkey does not fit a numeric scope and IS TRUE. Index: events_of_activity.
WITH found AS MATERIALIZED (
    SELECT e.*
    FROM events e
    WHERE e.scope_id = :scope::bigint::numeric AND e.activity_id = :activity
        AND hashtextextended(e.activity_id, 0) = hashtextextended(:activity, 0)
        AND (e.event_number < :before) IS TRUE
        AND (:installation::bytea IS NULL OR e.installation_hash = :installation)
        AND (:subject::text IS NULL OR e.subject = :subject)
        AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
        AND (:type::text IS NULL OR e.type = :type)
        AND (:since::timestamptz IS NULL OR e.recorded_at >= :since)
        AND (:until::timestamptz IS NULL OR e.recorded_at < :until)
)
SELECT e.* FROM found e ORDER BY e.event_number DESC LIMIT :limit;

-- name: events.read-rare
-- One page of the events of a rare type, ordered like the index. Index: events_rare.
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
-- One page of an installation's events. Runs after events.prefer-indexes. The trail's summary finds all of them before
-- the sort, because other indexes do not fit a numeric scope and IS TRUE. Index: events_summary. Reads many rows: all
-- pages that the summary names.
WITH found AS MATERIALIZED (
    SELECT e.*
    FROM events e
    WHERE e.scope_id = :scope::bigint::numeric AND e.installation_hash = :installation
        AND (e.event_number < :before) IS TRUE
        AND (:subject::text IS NULL OR e.subject = :subject)
        AND (:kind::text IS NULL OR e.aliases -> :kind ? :value)
        AND (:type::text IS NULL OR e.type = :type)
        AND e.recorded_at >= coalesce(:since::timestamptz, '-infinity')
        AND e.recorded_at < coalesce(:until::timestamptz, 'infinity')
)
SELECT e.* FROM found e ORDER BY e.event_number DESC LIMIT :limit;

-- name: events.read-of-subject
-- One page of a user's events, like events.read-of-installation. Runs after events.prefer-indexes.
-- Index: events_summary. Reads many rows.
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
-- One page of the matching events in a range of numbers. Index: events_pkey. Reads many rows: the range.
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
-- The next range's lower end, number of events and latest time. Index: events_pkey. Reads many rows: the range.
SELECT min(s.event_number) AS first, count(*) AS count, max(s.recorded_at) AS latest
FROM (
    SELECT e.event_number, e.recorded_at
    FROM events e
    WHERE e.scope_id = :scope AND e.event_number < :before
    ORDER BY e.event_number DESC
    LIMIT :size
) AS s;

-- name: events.find-end
-- The first number above all events recorded before a time. Numbers grow with time, except in overlapping transactions,
-- which last less than an hour. Index: events_summary. Reads many rows: an hour of events.
SELECT min(e.event_number) AS number
FROM events e
WHERE e.scope_id = :scope AND e.recorded_at > :time::timestamptz + interval '1 hour'
    AND e.recorded_at < :time::timestamptz + interval '2 hours';
