-- The kinds of token. A new kind of token that an installation has one of costs a row here.
CREATE TABLE token_kinds (
    kind text COLLATE "C" NOT NULL,
    -- The holder of such a token: an activity, an installation and attributes type, or an installation.
    holder text NOT NULL,
    -- A value of this kind belongs to the holder that claimed it last alone (R7); else values may repeat.
    has_one_owner boolean NOT NULL,
    -- The topic is the bundle id and this.
    topic_suffix text NOT NULL,
    push_type text NOT NULL,
    CONSTRAINT token_kinds_pkey PRIMARY KEY (kind),
    -- The target of installation_tokens.
    CONSTRAINT token_kinds_ownership_key UNIQUE (kind, has_one_owner),
    CONSTRAINT token_kinds_holder_is_known CHECK (holder IN ('activity', 'attributes-type', 'installation'))
);

INSERT INTO token_kinds (kind, holder, has_one_owner, topic_suffix, push_type) VALUES
    ('update', 'activity', true, '.push-type.liveactivity', 'liveactivity'),
    ('start', 'attributes-type', false, '.push-type.liveactivity', 'liveactivity'),
    ('device', 'installation', true, '', 'alert'),
    ('widget', 'installation', true, '.push-type.widgets', 'widgets');

-- All that is known of a token value, whatever kind it is of: one row, so one lock decides every race about it. A token
-- is handed out only where the row of its activity or installation and this row agree.
CREATE TABLE token_values (
    scope_id bigint NOT NULL,
    token_digest bytea NOT NULL,
    -- The activity with the greatest (observed_at, activity_id) that ever claimed it; it stays after rotation and end.
    activity_id text COLLATE "C",
    activity_key bigint,
    observed_at timestamptz,
    -- The same for kinds that installations hold. A value that has this is never handed out as an activity token.
    installation_kind text COLLATE "C",
    installation_hash bytea,
    installation_observed_at timestamptz,
    -- The last claim as a start token. Several installations and types may have the value, so nobody owns it.
    start_observed_at timestamptz,
    -- The greatest time as of which APNs said that it is dead. Remembered for values not known, too.
    dead_at timestamptz,
    -- Until when an admin purged claims on it; it is dead as of then, too. A later claim brings it back.
    purged_at timestamptz,
    -- Not handed out until a client claims it later than this or an admin releases it.
    quarantined_at timestamptz,
    quarantined_kind text COLLATE "C",
    quarantine_reason text,
    -- The last push that APNs took.
    delivered_at timestamptz,
    -- The last receipt of anything about it, for the sweep, while no activity has claimed it. It stands still from then
    -- on: it is indexed, and registrations and feedback then change no index.
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT token_values_pkey PRIMARY KEY (token_digest, scope_id),
    -- The only check, and short, for the reason given at activities.
    CONSTRAINT token_values_owner_has_key CHECK ((activity_id IS NULL) = (activity_key IS NULL))
) WITH (fillfactor = 80);

-- The owner of a value, as a unit of work writes it.
CREATE TYPE token_owner_write AS (
    row_position tid,
    token_digest bytea,
    activity_id text,
    activity_key bigint,
    observed_at timestamptz
);

-- The reports about a value, as a unit of work writes them.
CREATE TYPE token_report_write AS (
    row_position tid,
    token_digest bytea,
    dead_at timestamptz,
    quarantined_at timestamptz,
    quarantined_kind text,
    quarantine_reason text,
    delivered_at timestamptz
);

-- The sweep and the audit find all tokens that an activity had, except those that another has claimed since. An activity's key is
-- unique over all scopes.
CREATE INDEX token_values_of_activity ON token_values (activity_key) WHERE activity_key IS NOT NULL;

-- The burst guard counts and releases the last minutes' quarantines.
CREATE INDEX token_values_quarantined ON token_values (scope_id, quarantined_kind, quarantined_at)
    WHERE quarantined_at IS NOT NULL;

-- The sweep finds values that were never registered.
CREATE INDEX token_values_unclaimed ON token_values (scope_id, touched_at)
    WHERE activity_id IS NULL AND installation_hash IS NULL AND start_observed_at IS NULL;

-- The sweep looks at values of installations that were not touched for long.
CREATE INDEX token_values_of_installations ON token_values (scope_id, touched_at)
    WHERE activity_id IS NULL AND (installation_hash IS NOT NULL OR start_observed_at IS NOT NULL);

-- An erasure finds the values that an installation owns. Only the erasure names the condition, so the planner never uses the
-- index for a value that it should look up by its digest.
CREATE INDEX token_values_of_installation ON token_values (installation_hash, scope_id) WHERE installation_hash > '';

-- Whether too many tokens of a kind were reported at once, which is a sender's fault and not the tokens'. Feedback
-- that would quarantine locks these rows first.
CREATE TABLE quarantine_guards (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- Since when nothing is quarantined, null while the guard is not on.
    tripped_at timestamptz,
    -- The last report that would have quarantined; the guard stays on until ten minutes have passed without one.
    reported_at timestamptz,
    CONSTRAINT quarantine_guards_pkey PRIMARY KEY (scope_id, kind)
);

-- Tokens of installations: one for each kind, or for each attributes type where the kind says so. Never handed out as
-- activity tokens.
CREATE TABLE installation_tokens (
    scope_id bigint NOT NULL,
    installation_hash bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- Empty for kinds that an installation has one of.
    attributes_type text COLLATE "C" NOT NULL,
    -- The kind's, for indexes to know it.
    has_one_owner boolean NOT NULL,
    -- Immutable; pages of all tokens of a kind are ordered by it.
    token_number bigint GENERATED ALWAYS AS IDENTITY,
    -- The token with the greatest (observed_at, token_digest); null while only a deletion is known.
    token bytea,
    token_digest bytea,
    observed_at timestamptz,
    claimed_at timestamptz,
    confirmed_at timestamptz,
    -- The greatest time of its deletions: what was observed no later is gone.
    deleted_at timestamptz,
    -- The deletion of this time was a purge.
    purged_at timestamptz,
    -- Why senders do not get the token; null if they get it. Every transaction that changes the owner, kind, death or quarantine
    -- of the token's value sets it, so that resolve does not read the value.
    withheld text,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT installation_tokens_pkey PRIMARY KEY (scope_id, installation_hash, kind, attributes_type),
    CONSTRAINT installation_tokens_kind_fkey
        FOREIGN KEY (kind, has_one_owner) REFERENCES token_kinds (kind, has_one_owner),
    CONSTRAINT installation_tokens_token_is_whole CHECK (
        (token_digest IS NULL) = (observed_at IS NULL) AND (token_digest IS NULL) = (claimed_at IS NULL)
        AND (token IS NULL OR token_digest IS NOT NULL) AND (withheld IS NULL OR token IS NOT NULL)
    ),
    CONSTRAINT installation_tokens_token_is_at_most_512_bytes CHECK (octet_length(token) <= 512)
) WITH (fillfactor = 80);

-- A token slot, as a unit of work writes it.
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

-- Exports and the audit go through a scope's tokens of a kind by their numbers, and the burst guard counts them.
CREATE INDEX installation_tokens_of_number ON installation_tokens (scope_id, kind, token_number)
    WHERE token_number > 0;

-- Feedback names a value: which tokens have it now. One that has an owner is found by that.
CREATE INDEX installation_tokens_of_value ON installation_tokens (scope_id, token_digest)
    WHERE NOT has_one_owner AND token_digest IS NOT NULL;

-- The sweep finds tombstones past their retention.
CREATE INDEX installation_tokens_removed ON installation_tokens (scope_id, touched_at) WHERE token IS NULL;
