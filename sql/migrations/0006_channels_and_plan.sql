-- At most one channel per alias.
CREATE TABLE channels (
    scope_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    channel_id text COLLATE "C" NOT NULL,
    -- As in APNs: 0 stores no message, 1 stores the most recent.
    message_storage_policy bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channels_pkey PRIMARY KEY (scope_id, kind, value),
    CONSTRAINT channels_id_is_at_most_128_bytes CHECK (octet_length(channel_id) BETWEEN 1 AND 128),
    CONSTRAINT channels_policy_is_known CHECK (message_storage_policy IN (0, 1))
);

-- Counts channels against Apple's quota.
CREATE INDEX channels_of_id ON channels (channel_id, scope_id);

-- A request that sets or deletes a channel locks the scope's row, so that two requests cannot both use the last channel
-- of the quota.
CREATE TABLE channel_quotas (
    scope_id bigint NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channel_quotas_pkey PRIMARY KEY (scope_id)
);

-- The right to start an activity on a phone. While a lease is active, other senders get none for its alias and
-- installation.
--
-- The primary key decides between concurrent planners. An activity with the alias on the installation, registered after
-- the lease was taken, frees it, so a registration writes nothing here.
CREATE TABLE start_leases (
    scope_id bigint NOT NULL,
    installation_hash bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    -- The type of the start token returned with it.
    attributes_type text COLLATE "C" NOT NULL,
    -- The id of the running activity that the new one replaces; null if none ran.
    replaces text COLLATE "C",
    -- New each time that it is taken, so that a late report about the previous one frees nothing newer.
    lease_id bytea NOT NULL,
    -- The planner's name of its plan. Repeating it returns the same lease.
    plan_id text COLLATE "C",
    leased_at timestamptz NOT NULL,
    leased_until timestamptz NOT NULL,
    -- The last three attempts, including this lease's. A released lease does not count.
    attempted_at timestamptz[] NOT NULL,
    -- The reported failure of the start push, APNs's reason, and when the next attempt is allowed.
    failed_at timestamptz,
    failure text COLLATE "C",
    retry_at timestamptz,
    -- Released by its holder because nothing was sent.
    released_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT start_leases_pkey PRIMARY KEY (installation_hash, scope_id, kind, value),
    -- Feedback and releases name a lease by id.
    CONSTRAINT start_leases_id_key UNIQUE (lease_id, scope_id),
    CONSTRAINT start_leases_id_is_16_bytes CHECK (octet_length(lease_id) = 16),
    CONSTRAINT start_leases_remember_three_attempts CHECK (cardinality(attempted_at) <= 3),
    CONSTRAINT start_leases_failure_is_whole CHECK (
        (failed_at IS NULL) = (retry_at IS NULL) AND (failed_at IS NULL) = (failure IS NULL)
    )
) WITH (fillfactor = 80);

CREATE TYPE start_lease_write AS (
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
    released_at timestamptz,
    replaces text
);

-- Erasures and the audit find an alias's leases.
CREATE INDEX start_leases_of_alias ON start_leases (value, kind, scope_id, installation_hash);

-- The sweep finds leases with attempts more than a day old.
CREATE INDEX start_leases_over ON start_leases (scope_id, leased_until) WHERE leased_until > '-infinity';
