CREATE TYPE end_reason AS ENUM ('ended', 'dismissed');

-- One row per activity. The tombstone is the same row, because with separate rows a concurrent end and registration
-- could miss each other. Every fact is a greatest or least of the requests' values, so the order of requests does not
-- matter.
CREATE TABLE activities (
    -- Columns that a rotation does not change come first, because Postgres logs a changed row from its first change to
    -- its last. Bytes precede times, which Postgres aligns.
    scope_id bigint NOT NULL,
    -- Immutable. Orders the pages of an alias.
    activity_key bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- The least (time, reason) of all ends. Never cleared, because an end is final.
    ended_at timestamptz,
    end_reason end_reason,
    -- When a sweep recorded the expiry. Cleared if a request schedules the activity for later, the only change that
    -- moves expires_at to a later time.
    expiry_recorded_at timestamptz,
    -- Facts: the first received value stays.
    installation_hash bytea,
    subject text,
    attributes_type text COLLATE "C",
    frequent_pushes_enabled boolean,
    -- 'channel' or 'none': the activity gets no token by design. Null: it gets one.
    push_type text COLLATE "C",
    starts_at timestamptz,
    -- Replaced as a whole by the greatest (time, value). Aliases are {"kind": ["value", …]}, sorted.
    metadata jsonb,
    metadata_observed_at timestamptz,
    aliases jsonb,
    -- The token with the greatest (token_observed_at, token_digest). The bytes are deleted when the activity ends or
    -- expires.
    token bytea,
    token_digest bytea,
    aliases_observed_at timestamptz,
    token_observed_at timestamptz,
    -- The client's claim, compared with the time of feedback: the greatest of all min(observedAt, receipt).
    token_claimed_at timestamptz,
    -- Why senders do not get the token; null if they do. Every transaction that changes the owner, kind, death or
    -- quarantine of the token's value sets it, so that resolve does not read the value.
    withheld text,
    confirmed_at timestamptz,
    -- The greatest observedAt, full states included. The activity is dismissed while this is earlier than its
    -- installation's full_state_at.
    last_observed_at timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    -- The last request about the activity since its end or expiry.
    touched_at timestamptz,
    -- In keys of single rows the selective column comes first, because rows of a scope share the other columns, which
    -- would be compared at every step.
    CONSTRAINT activities_pkey PRIMARY KEY (activity_id, scope_id),
    -- The only check, and short, because every statement that writes a row parses the checks again.
    CONSTRAINT activities_over_have_no_token CHECK (
        token IS NULL OR (token_digest IS NOT NULL AND ended_at IS NULL AND expiry_recorded_at IS NULL)
    )
) WITH (fillfactor = 80);

-- The rows of units of work are sent as one array of this type, because an array per column costs several times as
-- much. Null aliases or metadata keep the stored value.
CREATE TYPE activity_write AS (
    row_position tid,
    activity_id text,
    installation_hash bytea,
    subject text,
    attributes_type text,
    frequent_pushes_enabled boolean,
    push_type text,
    starts_at timestamptz,
    started_at timestamptz,
    expires_at timestamptz,
    ended_at timestamptz,
    end_reason end_reason,
    expiry_recorded_at timestamptz,
    last_observed_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    metadata jsonb,
    metadata_observed_at timestamptz,
    token bytea,
    token_digest bytea,
    token_observed_at timestamptz,
    token_claimed_at timestamptz,
    withheld text,
    confirmed_at timestamptz,
    revision bigint
);

-- The effect of a changed token value on its activity.
CREATE TYPE activity_withholding_write AS (row_position tid, withheld text, revision bigint);

-- Resolve finds an alias's activities by this unique key; exports and the audit read a scope in its order. Partial,
-- because otherwise a plan made while the table was empty would use it to look up several ids and scan the scope.
CREATE INDEX activities_of_key ON activities (scope_id, activity_key) WHERE activity_key > 0;

-- Full states find an installation's running activities, log-outs end them in pages, erasures find all.
CREATE INDEX activities_of_installation ON activities (scope_id, installation_hash, (ended_at IS NULL), activity_key)
    WHERE installation_hash IS NOT NULL;

-- Erasures find a user's activities.
CREATE INDEX activities_of_subject ON activities (scope_id, subject) WHERE subject IS NOT NULL;

-- The sweep finds expired activities, and the burst guard counts running ones.
CREATE INDEX activities_running ON activities (scope_id, expires_at)
    WHERE ended_at IS NULL AND expiry_recorded_at IS NULL;

-- The sweep finds tombstones past their retention.
CREATE INDEX activities_over ON activities (scope_id, expires_at)
    WHERE ended_at IS NOT NULL OR expiry_recorded_at IS NOT NULL;

-- Resolve reads (…, ended = false) in the order of activity_key. An activity's rows are found by its aliases column, so
-- no second index is needed. "ended" includes expired.
CREATE TABLE activity_aliases (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ended boolean NOT NULL,
    activity_key bigint NOT NULL,
    CONSTRAINT activity_aliases_pkey PRIMARY KEY (value, kind, scope_id, ended, activity_key)
);

-- The key is null for a new activity.
CREATE TYPE activity_alias_write AS (activity_id text, activity_key bigint, kind text, value text, ended boolean);

-- An activity known only by (liveactivityId, owner): its current server-made id and its last end.
CREATE TABLE alias_identities (
    scope_id bigint NOT NULL,
    alias text COLLATE "C" NOT NULL,
    -- 'installation:' and the hash in hex, 'subject:' and the sub, or 'app'.
    owner text COLLATE "C" NOT NULL,
    -- The activity that runs or ran last.
    activity_id text COLLATE "C",
    -- The greatest observedAt of its ends. Everything observed at or before it belongs to an ended activity.
    ended_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT alias_identities_pkey PRIMARY KEY (scope_id, alias, owner)
) WITH (fillfactor = 80);

-- The sweep finds identities past their retention.
CREATE INDEX alias_identities_touched ON alias_identities (scope_id, touched_at) WHERE touched_at > '-infinity';

-- Erasures find an installation's or user's identities. Excludes 'app', which may own all rows.
CREATE INDEX alias_identities_of_owner ON alias_identities (owner, scope_id) WHERE owner <> 'app';

-- Postgres inlines this function.
CREATE FUNCTION activity_state(
    ended_at timestamptz, started_at timestamptz, expires_at timestamptz, last_observed_at timestamptz,
    removed_at timestamptz, full_state_at timestamptz
) RETURNS text LANGUAGE sql STABLE RETURN CASE
    WHEN ended_at IS NOT NULL THEN 'ended'
    WHEN expires_at <= now() THEN 'expired'
    -- Started before its installation's log-out, even if it became known later.
    WHEN removed_at >= started_at THEN 'ended'
    -- Missing from its installation's full state.
    WHEN full_state_at > last_observed_at THEN 'dismissed'
    ELSE 'active'
END;

-- The activities with a token for senders. Full states and log-outs do not write activities, so their times are
-- compared here.
CREATE VIEW deliverable_activities AS
SELECT
    a.activity_key, a.activity_id, a.token, a.installation_hash, a.attributes_type, a.frequent_pushes_enabled,
    a.started_at, a.starts_at, a.token_observed_at, a.confirmed_at, a.expires_at, a.revision, a.scope_id
FROM activities a
LEFT JOIN installations i ON i.scope_id = a.scope_id AND i.installation_hash = a.installation_hash
WHERE a.ended_at IS NULL AND a.expires_at > now() AND a.token IS NOT NULL AND a.withheld IS NULL
    AND (i.removed_at >= a.started_at) IS NOT TRUE
    AND (i.full_state_at > a.last_observed_at) IS NOT TRUE;

-- All activities with their state, and the first reason why senders do not get the token; null if deliverable.
CREATE VIEW explained_activities AS
SELECT
    a.*, i.removed_at, i.full_state_at, s.state,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        -- expired, dismissed
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN CASE a.push_type
            WHEN 'channel' THEN 'channel'
            WHEN 'none' THEN 'no-push'
            ELSE 'no-token'
        END
        ELSE a.withheld
    END AS reason
FROM activities a
LEFT JOIN installations i ON i.scope_id = a.scope_id AND i.installation_hash = a.installation_hash
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s;

-- All activities, with the columns that senders and plans read: not the JSON, which may be long.
CREATE VIEW sender_activities AS
SELECT
    a.activity_key, a.activity_id, a.token, a.installation_hash, a.attributes_type, a.frequent_pushes_enabled,
    a.started_at, a.starts_at, a.token_observed_at, a.confirmed_at, a.expires_at, a.revision, a.scope_id,
    a.created_at, a.last_observed_at, a.ended_at, a.end_reason, a.removed_at, a.state, a.reason
FROM explained_activities a;
