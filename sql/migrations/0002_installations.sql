CREATE TABLE installations (
    scope_id bigint NOT NULL,
    -- SHA-256 of app and installation id. The id itself is never stored.
    installation_hash bytea NOT NULL,
    -- The user with the greatest (subject_observed_at, subject). A user known only from tokens has no time.
    subject text,
    subject_observed_at timestamptz,
    -- The greatest observedAt at which the user changed. Aliases given without a user before it are gone.
    taken_over_at timestamptz,
    -- The greatest observedAt of another user's registration. Aliases that are not later are gone.
    other_user_observed_at timestamptz,
    -- The greatest observedAt of its full states.
    full_state_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    metadata jsonb,
    metadata_observed_at timestamptz,
    -- The greatest time of its log-outs. What was observed at or before it is gone. full_state_at is never earlier.
    removed_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT installations_pkey PRIMARY KEY (installation_hash, scope_id)
) WITH (fillfactor = 80);

-- Exports, searches and the sweep read a scope's installations in the order of their hashes.
CREATE INDEX installations_in_order ON installations (scope_id, installation_hash) WHERE installation_hash > '';

-- Lists show the most recently active installations first.
CREATE INDEX installations_touched ON installations (scope_id, touched_at, installation_hash)
    WHERE touched_at > '-infinity';

-- Erasures find a user's installations.
CREATE INDEX installations_of_subject ON installations (scope_id, subject) WHERE subject IS NOT NULL;

-- The aliases that find start, device and widget tokens.
CREATE TABLE installation_aliases (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    installation_hash bytea NOT NULL,
    CONSTRAINT installation_aliases_pkey PRIMARY KEY (scope_id, kind, value, installation_hash)
);

-- Updates an installation's rows after a change of its aliases column.
CREATE INDEX installation_aliases_of_installation
    ON installation_aliases (installation_hash, scope_id);
