-- Broadcast channels: at most one an alias.
CREATE TABLE channels (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    channel_id text COLLATE "C" NOT NULL,
    -- As APNs has it: 0 stores no message, 1 the most recent one.
    message_storage_policy bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channels_pkey PRIMARY KEY (scope_id, kind, value),
    CONSTRAINT channels_id_is_at_most_128_bytes CHECK (octet_length(channel_id) BETWEEN 1 AND 128),
    CONSTRAINT channels_policy_is_known CHECK (message_storage_policy IN (0, 1))
);

-- Channels are counted against Apple's quota.
CREATE INDEX channels_of_id ON channels (channel_id, scope_id);

-- A request that sets or deletes a channel locks the scope's row here, so that two cannot both be the last within the quota.
CREATE TABLE channel_quotas (
    scope_id bigint NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channel_quotas_pkey PRIMARY KEY (scope_id)
);

-- The right to start an activity on a phone: while a lease is live, no other sender gets one for the same alias and installation.
--
-- Its primary key decides between planners that ask at the same moment. The activity itself frees the lease: one that has the alias
-- on the installation and was registered after the lease was taken. So a registration writes nothing here.
CREATE TABLE start_leases (
    scope_id bigint NOT NULL,
    installation_hash bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    -- That of the start token that was handed out with it.
    attributes_type text COLLATE "C" NOT NULL,
    -- New each time that it is taken, so that a late report about the previous one frees nothing newer.
    lease_id bytea NOT NULL,
    -- The planner's own name of its plan: a repeated request with it gets the same lease.
    plan_id text COLLATE "C",
    leased_at timestamptz NOT NULL,
    leased_until timestamptz NOT NULL,
    -- When the last three attempts began, the lease's own among them; one that was given back is none.
    attempted_at timestamptz[] NOT NULL,
    -- When a sender reported that the start push failed, with what APNs said, and from when on another may be tried.
    failed_at timestamptz,
    failure text COLLATE "C",
    retry_at timestamptz,
    -- When its holder gave it back: nothing was sent.
    released_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT start_leases_pkey PRIMARY KEY (installation_hash, scope_id, kind, value),
    -- Feedback and giving back name a lease by its id.
    CONSTRAINT start_leases_id_key UNIQUE (lease_id, scope_id),
    CONSTRAINT start_leases_id_is_16_bytes CHECK (octet_length(lease_id) = 16),
    CONSTRAINT start_leases_remember_three_attempts CHECK (cardinality(attempted_at) <= 3),
    CONSTRAINT start_leases_failure_is_whole CHECK (
        (failed_at IS NULL) = (retry_at IS NULL) AND (failed_at IS NULL) = (failure IS NULL)
    )
) WITH (fillfactor = 80);

-- A lease, as a unit of work writes it.
CREATE TYPE start_lease_write AS (
    -- The ctid of the locked row.
    row_position tid,
    installation_hash bytea,
    kind text,
    value text,
    attributes_type text,
    lease_id bytea,
    plan_id text,
    leased_at timestamptz,
    leased_until timestamptz,
    attempted_at timestamptz[],
    failed_at timestamptz,
    failure text,
    retry_at timestamptz,
    released_at timestamptz
);

-- An erasure and the audit find the leases of an alias.
CREATE INDEX start_leases_of_alias ON start_leases (value, kind, scope_id, installation_hash);

-- The sweep finds those whose attempts are a day past.
CREATE INDEX start_leases_over ON start_leases (scope_id, leased_until) WHERE leased_until > '-infinity';
