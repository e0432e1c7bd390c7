CREATE TYPE end_reason AS ENUM ('ended', 'dismissed');

-- One row for each activity. The tombstone is this row as well: with a tombstone in a row of its own, an end and a registration
-- at the same moment could miss each other. Every fact here is a join (a greatest or a least) of the requests' values, so the
-- order of the requests does not matter.
CREATE TABLE activities (
    -- Columns that a rotation does not change come first: Postgres logs a changed row from its first change to its last.
    scope_id bigint NOT NULL,
    -- Immutable; pages of an alias are ordered by it.
    activity_key bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- The least (time, reason) of all ends. Never cleared: ended is final.
    ended_at timestamptz,
    end_reason end_reason,
    -- When a sweep recorded that it expired. Null again after a request that schedules it for later: nothing else moves
    -- expires_at to a later time.
    expiry_recorded_at timestamptz,
    -- Facts: the first value received stays.
    installation_hash bytea,
    subject text,
    attributes_type text COLLATE "C",
    frequent_pushes_enabled boolean,
    -- The start of a scheduled activity, if it was later than the observation.
    starts_at timestamptz,
    -- Replaced as a whole, by the greatest (time given, value). Aliases are {"kind": ["value", …]}, sorted.
    metadata jsonb,
    metadata_observed_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    -- The token with the greatest (token_observed_at, token_digest); the bytes go when the activity ends or expires.
    token bytea,
    token_digest bytea,
    token_observed_at timestamptz,
    -- The client's claim on the token, which feedback is compared with: the greatest of the lesser of observedAt and receipt.
    token_claimed_at timestamptz,
    -- Why senders do not get the current token; null if they get it. Every transaction that changes the owner, kind, death or
    -- quarantine of the token's value sets it, so that resolve does not read the value.
    withheld text,
    confirmed_at timestamptz,
    -- The greatest observedAt of all, full states included: it is dismissed while this is before its installation's
    -- full_state_at.
    last_observed_at timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    -- The last receipt of anything about it. Written by every request, so that an answer is never a no-op's.
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The column that tells rows apart comes first in keys that are looked up whole: all rows of a scope are equal in the
    -- others, which would have to be compared at every step.
    CONSTRAINT activities_pkey PRIMARY KEY (activity_id, scope_id),
    -- The only check, and short: every statement that writes a row parses the checks again.
    CONSTRAINT activities_over_have_no_token CHECK (
        token IS NULL OR (token_digest IS NOT NULL AND ended_at IS NULL AND expiry_recorded_at IS NULL)
    )
) WITH (fillfactor = 80);

-- The row that a unit of work writes. Rows are sent as one array of this type: an array for each column would cost several times
-- as much. A missing set of aliases or metadata keeps the stored one.
CREATE TYPE activity_write AS (
    -- The ctid of the locked row.
    row_position tid,
    activity_id text,
    installation_hash bytea,
    subject text,
    attributes_type text,
    frequent_pushes_enabled boolean,
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

-- The consequence of a change of a token's value for its activity.
CREATE TYPE activity_withholding_write AS (row_position tid, withheld text, revision bigint);

-- Resolve goes from an alias's row to the activity by its key, which is unique; exports and the audit go through a scope's
-- activities by it. Partial, so that only statements that name the condition use it: by a plan that was made while the table was
-- empty, a lookup of several ids would otherwise walk through all of the scope here.
CREATE INDEX activities_of_key ON activities (scope_id, activity_key) WHERE activity_key > 0;

-- A full state finds the running activities of its installation, and a log-out ends them in pages by their keys; an
-- erasure finds all of them.
CREATE INDEX activities_of_installation ON activities (scope_id, installation_hash, (ended_at IS NULL), activity_key)
    WHERE installation_hash IS NOT NULL;

-- An erasure finds the activities of a signed-in user.
CREATE INDEX activities_of_subject ON activities (scope_id, subject) WHERE subject IS NOT NULL;

-- The sweep finds what has expired, and the burst guard counts what has not.
CREATE INDEX activities_running ON activities (scope_id, expires_at)
    WHERE ended_at IS NULL AND expiry_recorded_at IS NULL;

-- The sweep finds tombstones past their retention.
CREATE INDEX activities_over ON activities (scope_id, expires_at)
    WHERE ended_at IS NOT NULL OR expiry_recorded_at IS NOT NULL;

-- The activities of an alias. Resolve reads (…, ended = false) in order of activity_key; others find an
-- activity's rows by its column of aliases, so this needs no second index. Ended or expired is the same here.
CREATE TABLE activity_aliases (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ended boolean NOT NULL,
    activity_key bigint NOT NULL,
    CONSTRAINT activity_aliases_pkey PRIMARY KEY (value, kind, scope_id, ended, activity_key)
);

-- The key is missing for a new activity.
CREATE TYPE activity_alias_write AS (activity_id text, activity_key bigint, kind text, value text, ended boolean);

-- An activity known only by (liveactivityId, owner): its current id, made by the server, and its last end.
CREATE TABLE alias_identities (
    scope_id bigint NOT NULL,
    alias text COLLATE "C" NOT NULL,
    -- 'installation:' and the hash in hex, 'subject:' and the sub, or 'app'.
    owner text COLLATE "C" NOT NULL,
    -- The activity that runs, or ran last.
    activity_id text COLLATE "C",
    -- The greatest observedAt of its ends: everything observed no later belongs to an ended activity.
    ended_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT alias_identities_pkey PRIMARY KEY (scope_id, alias, owner)
) WITH (fillfactor = 80);

-- The sweep finds identities past their retention.
CREATE INDEX alias_identities_touched ON alias_identities (scope_id, touched_at) WHERE touched_at > '-infinity';

-- An erasure finds what an installation or a signed-in user owns. What the app owns may be all there is.
CREATE INDEX alias_identities_of_owner ON alias_identities (owner, scope_id) WHERE owner <> 'app';
