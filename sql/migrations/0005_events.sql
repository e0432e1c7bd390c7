-- The audit trail, written in the transaction of the change. An event about an app or its keys is in both of its
-- scopes. Numbers become visible out of order, so followers must not rely on them alone. Partitioned by the day on
-- which an event expires (its day plus the app's retention), so that old events are dropped by partition.
CREATE TABLE events (
    -- 0 for events about root keys.
    scope_id bigint NOT NULL,
    -- Precedes the number, because defaults are computed in column order: a transaction that draws a number already has
    -- an id. The change feed relies on this.
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_number bigint GENERATED ALWAYS AS IDENTITY,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    drop_on date NOT NULL,
    -- registered, rotated, reactivated, dismissed, ended, taken-over, app-created, app-changed, …
    type text COLLATE "C" NOT NULL,
    -- Key id or subject; 'insecure' without authentication.
    who text NOT NULL,
    activity_id text COLLATE "C",
    installation_hash bytea,
    -- The first 4 bytes of the token's SHA-256.
    token_fingerprint bytea,
    subject text,
    -- The aliases at that time, including aliases that the change removed.
    aliases jsonb,
    -- The kind of the installation's token, and its attributes type if the kind has one.
    token_kind text COLLATE "C",
    attributes_type text COLLATE "C",
    key_id text COLLATE "C",
    lease_id bytea,
    CONSTRAINT events_pkey PRIMARY KEY (scope_id, event_number, drop_on)
) PARTITION BY RANGE (drop_on);

-- For events before a sweep has made the day's partition. They are deleted row by row.
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- The trail of one activity. A hash of the id takes a third of the bytes; queries compare the id too.
CREATE INDEX events_of_activity ON events (hashtextextended(activity_id, 0));

-- The trail by rare type, and counts of rare types. Other types are found by number, so registrations write no entry
-- here.
CREATE INDEX events_rare ON events (scope_id, type, event_number) INCLUDE (recorded_at)
    WHERE type NOT IN ('registered', 'rotated', 'ended', 'expired', 'dismissed');

-- The trail of an installation, a user or a time: a summary of the pages that may contain it. It works because events
-- are append-only, and costs registrations a few bytes.
CREATE INDEX events_summary ON events USING brin (
    recorded_at, installation_hash bytea_bloom_ops (n_distinct_per_range = 1500),
    subject text_bloom_ops (n_distinct_per_range = 1500), who text_bloom_ops (n_distinct_per_range = 1500)
) WITH (pages_per_range = 32, autosummarize = on);

CREATE TYPE event_write AS (
    type text,
    who text,
    activity_id text,
    installation_hash bytea,
    subject text,
    aliases jsonb,
    token_fingerprint bytea,
    token_kind text,
    attributes_type text,
    lease_id bytea
);
