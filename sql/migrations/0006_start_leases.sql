-- The right to start an activity on a phone: while a lease is live nobody else gets one for the same alias and installation.
--
-- Its primary key decides between planners that ask at the same moment. That the activity is there frees a lease, and needs
-- no write: an activity that bears the alias on the installation and was registered later than the lease was taken says so.
-- So registrations cost what they did.
CREATE TABLE start_leases (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    installation_hash bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    -- That of the start token that was handed out with it.
    attributes_type text COLLATE "C" NOT NULL,
    -- Another one each time that it is taken, so that what comes late about the last one frees nothing newer.
    lease_id bytea NOT NULL,
    -- The planner's own name of its plan: who asks again by it gets the same lease.
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
    -- The last registration of an activity that bears the alias on the installation, as the planner saw it who asked last.
    registered_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT start_leases_pkey PRIMARY KEY (installation_hash, app_number, environment, kind, value),
    -- Feedback and giving back name a lease by its id.
    CONSTRAINT start_leases_id_key UNIQUE (lease_id, app_number, environment),
    CONSTRAINT start_leases_id_is_16_bytes CHECK (octet_length(lease_id) = 16),
    CONSTRAINT start_leases_remember_three_attempts CHECK (cardinality(attempted_at) <= 3),
    CONSTRAINT start_leases_failure_is_whole CHECK (
        (failed_at IS NULL) = (retry_at IS NULL) AND (failed_at IS NULL) = (failure IS NULL)
    )
) WITH (fillfactor = 80);

-- An erasure and the audit find the leases of an alias.
CREATE INDEX start_leases_of_alias ON start_leases (value, kind, app_number, environment, installation_hash);

-- The sweep finds those whose attempts are a day past.
CREATE INDEX start_leases_over ON start_leases (app_number, environment, leased_until) WHERE leased_until > '-infinity';

-- Which lease an event of type lease-taken, lease-released or start-failed is about.
ALTER TABLE events ADD COLUMN lease_id bytea;
