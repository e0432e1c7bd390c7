-- The audit trail, written in the transaction of the change. An event about the app itself or one of its keys is in both of the
-- app's scopes. Event numbers become visible out of order, so a follower must not go by them alone. Partitioned by the day on which
-- an event may go (its day and the app's retention), so that events past their retention are dropped, not deleted.
CREATE TABLE events (
    -- 0 for events about root keys.
    scope_id bigint NOT NULL,
    -- Before the number, because defaults are computed in the order of the columns: a transaction that draws a number has an id
    -- by then, and the change feed relies on it.
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_number bigint GENERATED ALWAYS AS IDENTITY,
    drop_on date NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    -- registered, rotated, reactivated, dismissed, ended, taken-over, app-created, app-changed, …
    type text COLLATE "C" NOT NULL,
    -- Key id or subject; 'insecure' without authentication.
    who text NOT NULL,
    activity_id text COLLATE "C",
    installation_hash bytea,
    -- The first 4 bytes of the token's SHA-256.
    token_fingerprint bytea,
    subject text,
    -- Those that the activity or installation had then; where they changed, those that it lost as well.
    aliases jsonb,
    -- The kind of the installation's token that it is about, and the attributes type where the kind has one a type.
    token_kind text COLLATE "C",
    attributes_type text COLLATE "C",
    -- The key of key-created and key-revoked.
    key_id text COLLATE "C",
    -- The lease of lease-taken, lease-released and start-failed.
    lease_id bytea,
    CONSTRAINT events_pkey PRIMARY KEY (scope_id, event_number, drop_on)
) PARTITION BY RANGE (drop_on);

-- Takes what comes before a sweep has made the day's partition; such rows are deleted one by one.
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- The audit trail of one activity, newest first. By a hash of the id an entry has a third of the bytes; statements compare the id,
-- too.
CREATE INDEX events_of_activity ON events (hashtextextended(activity_id, 0), event_number);

-- The audit trail by a type that is rare, and the counts of such types over time; those that most requests write are
-- found by their number. Registrations write no entry here.
CREATE INDEX events_rare ON events (scope_id, type, event_number) INCLUDE (recorded_at)
    WHERE type NOT IN ('registered', 'rotated', 'ended', 'expired', 'dismissed');

-- The audit trail of an installation, a user or a time: the pages that may hold it. Events are only ever added. A summary of 32
-- pages costs registrations a few bytes.
CREATE INDEX events_summary ON events USING brin (
    recorded_at, installation_hash bytea_bloom_ops (n_distinct_per_range = 1500),
    subject text_bloom_ops (n_distinct_per_range = 1500), who text_bloom_ops (n_distinct_per_range = 1500)
) WITH (pages_per_range = 32, autosummarize = on);

-- An event, as a unit of work writes it.
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
