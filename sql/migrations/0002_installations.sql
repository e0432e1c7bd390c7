CREATE TABLE installations (
    scope_id bigint NOT NULL,
    -- SHA-256 over app and installation id; the id itself is never stored.
    installation_hash bytea NOT NULL,
    -- The signed-in user with the greatest (subject_observed_at, subject) that registered it. A user known by tokens alone has no
    -- time here, and gives way to any user that registers the installation.
    subject text,
    subject_observed_at timestamptz,
    -- The greatest observedAt at which one user registered an installation of another: aliases given before it are gone.
    taken_over_at timestamptz,
    -- The greatest observedAt of its full states.
    full_state_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    metadata jsonb,
    metadata_observed_at timestamptz,
    -- The greatest time of its log-outs: what was observed no later is gone. A log-out is a full state without
    -- activities, too, so full_state_at is never before it.
    removed_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT installations_pkey PRIMARY KEY (installation_hash, scope_id)
) WITH (fillfactor = 80);

-- Exports, searches and the sweep go through a scope's installations in the order of their hashes.
CREATE INDEX installations_in_order ON installations (scope_id, installation_hash) WHERE installation_hash > '';

-- The sweep finds installations that were silent for long, and lists begin with those heard of last.
CREATE INDEX installations_touched ON installations (scope_id, touched_at, installation_hash)
    WHERE touched_at > '-infinity';

-- An erasure finds the installations of a signed-in user.
CREATE INDEX installations_of_subject ON installations (scope_id, subject) WHERE subject IS NOT NULL;

-- The aliases that start and device tokens are found by.
CREATE TABLE installation_aliases (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    installation_hash bytea NOT NULL,
    CONSTRAINT installation_aliases_pkey PRIMARY KEY (scope_id, kind, value, installation_hash)
);

-- An installation's rows are brought in step with its column of aliases.
CREATE INDEX installation_aliases_of_installation
    ON installation_aliases (installation_hash, scope_id);
