-- The data that the audit calls ask for. People make these calls, and they must not slow down registrations, so no index
-- here is written by one, but for the summaries of events, which cost a few bytes for 32 pages.

-- The audit trail by a type that is rare, and the counts of such types over time; those that most requests write are
-- found by their number.
CREATE INDEX events_rare ON events (app_number, environment, type, event_number) INCLUDE (recorded_at)
    WHERE type NOT IN ('registered', 'rotated', 'ended', 'expired', 'dismissed');

-- The audit trail of an installation or a user, what they did, and of a time: the pages that may hold it. Events are only ever added.
CREATE INDEX events_summary ON events USING brin (
    recorded_at, installation_hash bytea_bloom_ops (n_distinct_per_range = 1500),
    subject text_bloom_ops (n_distinct_per_range = 1500), who text_bloom_ops (n_distinct_per_range = 1500)
) WITH (pages_per_range = 32, autosummarize = on);
