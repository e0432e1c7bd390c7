-- One row per token value, for all kinds of tokens, so one lock decides every race about a value. A token is
-- deliverable only if this row and the row of its activity or installation agree.
CREATE TABLE token_values (
    scope_id bigint NOT NULL,
    -- The activity with the greatest (observed_at, activity_id) that ever claimed it, also after a rotation or end.
    activity_key bigint,
    observed_at timestamptz,
    -- For the sweep: the last request about it while no activity has claimed it. Not updated afterwards, because it is
    -- indexed, and registrations and feedback must not change indexes.
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The first 15 bytes of the SHA-256, which take 16 with their length.
    token_digest bytea NOT NULL,
    activity_id text COLLATE "C",
    -- The last claimant among installations. If set, the value is never an activity token.
    installation_kind text COLLATE "C",
    installation_hash bytea,
    installation_observed_at timestamptz,
    -- The last claim as a start token, which has no owner because several installations and types may share it.
    start_observed_at timestamptz,
    -- The greatest time at which APNs reported it dead. Stored for unknown values too.
    dead_at timestamptz,
    -- Claims up to this time were purged, and count as dead. A later claim restores the token.
    purged_at timestamptz,
    quarantined_at timestamptz,
    quarantined_kind text COLLATE "C",
    quarantine_reason text,
    -- The last push that APNs accepted.
    delivered_at timestamptz,
    CONSTRAINT token_values_pkey PRIMARY KEY (token_digest, scope_id),
    -- The only check, as in activities.
    CONSTRAINT token_values_owner_has_key CHECK ((activity_id IS NULL) = (activity_key IS NULL))
) WITH (fillfactor = 80);

CREATE TYPE token_owner_write AS (
    row_position tid,
    token_digest bytea,
    activity_id text,
    activity_key bigint,
    observed_at timestamptz
);

CREATE TYPE token_report_write AS (
    row_position tid,
    token_digest bytea,
    dead_at timestamptz,
    quarantined_at timestamptz,
    quarantined_kind text,
    quarantine_reason text,
    delivered_at timestamptz
);

-- The sweep and the audit find an activity's tokens, except tokens claimed by another activity since. Activity keys are
-- unique across scopes.
CREATE INDEX token_values_of_activity ON token_values (activity_key) WHERE activity_key IS NOT NULL;

-- The burst guard counts and releases recent quarantines.
CREATE INDEX token_values_quarantined ON token_values (scope_id, quarantined_kind, quarantined_at)
    WHERE quarantined_at IS NOT NULL;

-- The sweep finds values that were never registered.
CREATE INDEX token_values_unclaimed ON token_values (scope_id, touched_at)
    WHERE activity_id IS NULL AND installation_hash IS NULL AND start_observed_at IS NULL;

-- The sweep finds values of installations that were not touched for long.
CREATE INDEX token_values_of_installations ON token_values (scope_id, touched_at)
    WHERE activity_id IS NULL AND (installation_hash IS NOT NULL OR start_observed_at IS NOT NULL);

-- Erasures find an installation's values. Only the erasure names the condition, so the planner never uses this index to
-- look up a value by digest.
CREATE INDEX token_values_of_installation ON token_values (installation_hash, scope_id) WHERE installation_hash > '';

-- Detects too many reports about one kind, which indicate a sender's fault. Feedback that may quarantine locks these
-- rows first.
CREATE TABLE quarantine_guards (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- If the guard is on, nothing has been quarantined since.
    tripped_at timestamptz,
    -- The last report that would have quarantined. The guard turns off after ten minutes without one.
    reported_at timestamptz,
    CONSTRAINT quarantine_guards_pkey PRIMARY KEY (scope_id, kind)
);

-- One token per kind, or per attributes type if the kind requires it. Never activity tokens.
CREATE TABLE installation_tokens (
    scope_id bigint NOT NULL,
    installation_hash bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- Empty for kinds that allow one token per installation.
    attributes_type text COLLATE "C" NOT NULL,
    has_one_owner boolean NOT NULL,
    -- Immutable. Orders pages of all tokens of a kind.
    token_number bigint GENERATED ALWAYS AS IDENTITY,
    -- The token with the greatest (observed_at, token_digest); null while only a deletion is known.
    token bytea,
    token_digest bytea,
    observed_at timestamptz,
    claimed_at timestamptz,
    confirmed_at timestamptz,
    -- The greatest time of its deletions. Everything observed at or before it is gone.
    deleted_at timestamptz,
    -- Set if the deletion was a purge.
    purged_at timestamptz,
    -- Why senders do not get the token; null if they do. Maintained like activities.withheld.
    withheld text,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT installation_tokens_pkey PRIMARY KEY (scope_id, installation_hash, kind, attributes_type),
    CONSTRAINT installation_tokens_token_is_whole CHECK (
        (token_digest IS NULL) = (observed_at IS NULL) AND (token_digest IS NULL) = (claimed_at IS NULL)
        AND (token IS NULL OR token_digest IS NOT NULL) AND (withheld IS NULL OR token IS NOT NULL)
    ),
    CONSTRAINT installation_tokens_token_is_at_most_512_bytes CHECK (octet_length(token) <= 512)
) WITH (fillfactor = 80);

CREATE TYPE token_slot_write AS (
    row_position tid,
    token bytea,
    token_digest bytea,
    observed_at timestamptz,
    claimed_at timestamptz,
    confirmed_at timestamptz,
    deleted_at timestamptz,
    withheld text
);

-- Exports and the audit read a kind's tokens in the order of their numbers; the burst guard counts them.
CREATE INDEX installation_tokens_of_number ON installation_tokens (scope_id, kind, token_number)
    WHERE token_number > 0;

-- Feedback finds the tokens that share a value. Kinds with one owner are found by the value's owner.
CREATE INDEX installation_tokens_of_value ON installation_tokens (scope_id, token_digest)
    WHERE NOT has_one_owner AND token_digest IS NOT NULL;

-- The sweep finds tombstones past their retention.
CREATE INDEX installation_tokens_removed ON installation_tokens (scope_id, touched_at) WHERE token IS NULL;
