CREATE TYPE end_reason AS ENUM ('ended', 'dismissed');

-- The effect of the last request on an activity's row. Statements that follow in the same transaction read it to write
-- the former claim and the audit event of exactly that request.
CREATE TYPE activity_outcome AS ENUM (
    'observed', 'registered', 'rotated', 'refreshed', 'reactivated', 'superseded', 'expired', 'dismissed', 'ended',
    'refused'
);

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
    -- The app's lifetime at the first receipt.
    lifetime interval NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- The least (time, reason) of all ends. Never cleared: ended is final.
    ended_at timestamptz,
    end_reason end_reason,
    -- When a sweep recorded that it expired. Null again after a request that schedules it for later: nothing else moves
    -- expires_at to a later time.
    expiry_recorded_at timestamptz,
    -- Facts: the first given stays, by (time given, value).
    installation_hash bytea,
    installation_observed_at timestamptz,
    subject text,
    subject_observed_at timestamptz,
    attributes_type text COLLATE "C",
    attributes_type_observed_at timestamptz,
    frequent_pushes_enabled boolean,
    frequent_pushes_enabled_observed_at timestamptz,
    -- When it starts, if it was scheduled for later than it was observed.
    starts_at timestamptz,
    starts_at_observed_at timestamptz,
    -- Replaced as a whole, by the greatest (time given, value). Aliases are {"kind": ["value", …]}, sorted.
    metadata jsonb,
    metadata_observed_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    -- The token with the greatest (token_observed_at, token_digest); the bytes go when the activity ends or expires.
    token bytea,
    token_digest bytea,
    token_observed_at timestamptz,
    -- The client's claim on the token, which feedback is compared with: the greatest of the lesser of observedAt and
    -- receipt. And what it was before the last request, null where that brought another token.
    token_claimed_at timestamptz,
    previous_claimed_at timestamptz,
    -- The token may be withheld: its value has another owner, another kind, a death or a quarantine; the value's row decides.
    -- Every transaction that writes such a fact there sets this, so while it is false nothing reads the value's row, which is a
    -- third of a resolve's work. Only another token clears it.
    token_is_doubted boolean NOT NULL DEFAULT false,
    confirmed_at timestamptz,
    -- The greatest observedAt of all, full states included: it is dismissed while this is before its installation's
    -- full_state_at.
    last_observed_at timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    -- The effect of the last request; see activity_outcome.
    outcome activity_outcome NOT NULL,
    -- Whether it gave the aliases that hold now, and those that it replaced.
    aliases_changed boolean NOT NULL DEFAULT false,
    displaced_aliases jsonb,
    -- Whether it changed another fact that a sender sees.
    facts_changed boolean NOT NULL DEFAULT false,
    -- The last receipt of anything about it. Written by every request, so that an answer is never a no-op's.
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The random number of the batch of requests that was merged last: by it the statements of one transaction know which
    -- rows are theirs.
    batch_number bigint NOT NULL DEFAULT 0,
    -- The last word of its installation as that batch saw it, by which the request is answered. All others ask the
    -- installation itself.
    installation_full_state_at timestamptz,
    installation_removed_at timestamptz,
    -- The column that tells rows apart comes first in keys that are looked up whole: all rows of a scope are equal in the
    -- others, which would have to be compared at every step.
    CONSTRAINT activities_pkey PRIMARY KEY (activity_id, scope_id),
    CONSTRAINT activities_token_is_whole CHECK (
        (token_digest IS NULL) = (token_observed_at IS NULL) AND (token_digest IS NULL) = (token_claimed_at IS NULL)
        AND (token IS NULL OR token_digest IS NOT NULL)
    ),
    CONSTRAINT activities_token_is_at_most_512_bytes CHECK (octet_length(token) <= 512),
    CONSTRAINT activities_over_have_no_token CHECK (
        (ended_at IS NULL AND expiry_recorded_at IS NULL) OR token IS NULL
    ),
    CONSTRAINT activities_end_is_whole CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
    CONSTRAINT activities_expire_by_lifetime CHECK (expires_at = greatest(started_at, starts_at) + lifetime)
) WITH (fillfactor = 80);

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

-- Claims that lost their value to another activity: the value's row keeps the one of its owner. By them a token that comes
-- again without a time of its own still counts from when it was claimed.
CREATE TABLE former_claims (
    scope_id bigint NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    token_digest bytea NOT NULL,
    -- The greatest.
    observed_at timestamptz NOT NULL,
    CONSTRAINT former_claims_pkey PRIMARY KEY (activity_id, token_digest, scope_id)
);

-- An activity known only by (liveactivityId, owner): which of the ids that the server made is its latest, and when
-- it last ended under this name.
CREATE TABLE alias_identities (
    scope_id bigint NOT NULL,
    alias text COLLATE "C" NOT NULL,
    -- 'installation:' and the hash in hex, 'subject:' and the sub, or 'app'.
    owner text COLLATE "C" NOT NULL,
    -- The one that runs, or ran last; null while only an end is known.
    activity_id text COLLATE "C",
    -- An ended one, to which late requests are attributed.
    closed_activity_id text COLLATE "C",
    -- The greatest observedAt of its ends: whatever was observed no later belongs to an ended activity.
    ended_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT alias_identities_pkey PRIMARY KEY (scope_id, alias, owner)
) WITH (fillfactor = 80);

-- The sweep finds identities past their retention.
CREATE INDEX alias_identities_touched ON alias_identities (scope_id, touched_at) WHERE touched_at > '-infinity';

-- An erasure finds what an installation or a signed-in user owns. What the app owns may be all there is.
CREATE INDEX alias_identities_of_owner ON alias_identities (owner, scope_id) WHERE owner <> 'app';

-- The registrations under an alias identity, so that an end or a registration that comes late can still divide them
-- between two activities.
CREATE TABLE alias_registrations (
    scope_id bigint NOT NULL,
    alias text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    observed_at timestamptz NOT NULL,
    token_digest bytea NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- Both cleared once the activity is closed.
    token bytea,
    facts jsonb,
    CONSTRAINT alias_registrations_pkey PRIMARY KEY (scope_id, alias, owner, observed_at, token_digest)
);

-- A registration without observedAt asks whether its token was ever known under the identity.
CREATE INDEX alias_registrations_of_token ON alias_registrations (scope_id, alias, owner, token_digest);
