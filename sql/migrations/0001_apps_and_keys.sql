-- The schema of the push-token registry. The migrations have one subject each: read them in their order. A released migration is
-- never changed; a change of the schema is a new file.
--
-- Tables
--   apps                     An app's settings.
--   scopes                   An app has two scopes, sandbox and production. Every row of the other tables belongs to a scope.
--   deleted_apps             Apps whose rows are being deleted.
--   api_keys                 Digests of API keys, with their roles.
--   installations            An app on a phone: its user, its profile, its last full state and its last log-out.
--   installation_aliases     The aliases of installations, to find installations by them.
--   activities               A Live Activity, its token included. The tombstone of an ended activity is the same row.
--   activity_aliases         The aliases of activities, to find activities by them.
--   alias_identities         Activities that are known by a name and an owner only.
--   token_kinds              The kinds of push tokens, and their rules.
--   token_values             Everything known about a token's value, whichever activity or installation has it.
--   installation_tokens      Start, device and widget tokens: a row for each slot of an installation.
--   quarantine_guards        The burst guards of feedback.
--   events, events_default   The audit trail, which is the change feed as well, partitioned by the day on which events are dropped.
--   channels                 Broadcast channels of aliases.
--   channel_quotas           Locks for changes of an app's channels.
--   start_leases             The right of a sender to start an activity on a phone.
--   erasures                 Salted digests of erased names.
--   counts                   Counts by kind and state, for metrics and charts.
--   schema_migrations        The migrations that were applied.
--
-- Views
--   deliverable_activities, deliverable_installation_tokens            The rows whose tokens senders get. Nothing else decides that.
--   explained_activities, explained_installation_tokens                All rows, with the reason why senders do not get a token.
--   activity_explanations, installation_token_explanations             The same for the audit, with the time of the reason.
--   purgeable_tokens                                                   The tokens that an admin may purge.
--
-- How a token flows. A registration locks its activity and the token's value, decides in Swift (RegistryRules), and writes the
-- activity, its changed aliases, the value's owner and an event in one transaction. Reports from APNs, registrations of other
-- activities and installations, releases and purges change a value under the same locks. Each of them computes anew why the token is
-- withheld, and stores the reason with the activity or the token slot. So resolve reads an alias's rows and the deliverable
-- activities, and no value. Full states and log-outs take effect at once: their times are compared when an activity is read.
-- A sweep records what expired, and deletes tombstones and values after their retention.
--
-- No foreign keys. A value outlives its activity, because a late claim must lose to a later one. An erasure and the sweep delete in
-- pages, in an order that keeps races decided. The rows that belong together are written by one transaction under the locks of
-- their owner, and a foreign key would lock parents in an order of its own.
--
-- Citus. Every primary key and unique constraint contains scope_id, and every hot query names it: the same schema runs on one
-- Postgres and, distributed by scope_id, on Citus. Text keys are compared byte by byte (COLLATE "C").
--
-- Plans. The service's connections plan a query once, without its values (plan_cache_mode = force_generic_plan), sometimes while the
-- tables are almost empty. Such a plan takes all indexes that begin with the scope for equally good, and would walk through all of
-- the scope by any of them. QueryPlanTests finds such plans. These precautions avoid them:
--   - An index that is not the primary key begins with the column that tells rows apart, or it is partial with a condition that is
--     always true: only queries that name the condition use it.
--   - Several rows are looked up one by one (LATERAL with LIMIT 1), where a join would read all rows of the scope.
--   - Locked rows are written by their place (ctid), with the scope as a numeric, so that no index is used instead.

CREATE TYPE apns_environment AS ENUM ('sandbox', 'production');

CREATE TABLE apps (
    app_id bigint GENERATED ALWAYS AS IDENTITY,
    bundle_id text COLLATE "C" NOT NULL,
    name text,
    activity_lifetime interval NOT NULL,
    tombstone_retention interval NOT NULL,
    event_retention interval NOT NULL,
    -- The greatest number of its events that were dropped: a follower of the change feed from before it has missed some. The
    -- retention does not tell, because it may have been shorter once.
    events_dropped_to bigint NOT NULL DEFAULT 0,
    alias_rules jsonb NOT NULL DEFAULT '{}',
    jwt jsonb,
    -- Makes the digests of erased names unguessable without the database.
    erasure_salt uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT apps_pkey PRIMARY KEY (app_id),
    -- Unique without scope_id: on Citus this small table is a reference table.
    CONSTRAINT apps_bundle_id_key UNIQUE (bundle_id),
    CONSTRAINT apps_activity_lifetime_is_positive CHECK (activity_lifetime > '0'),
    CONSTRAINT apps_tombstones_outlive_activities CHECK (tombstone_retention >= activity_lifetime + interval '1 hour'),
    CONSTRAINT apps_event_retention_is_positive CHECK (event_retention > '0')
);

-- An app in one environment. Each app has two scopes, created with it. They outlive the app until the rows of their tables are
-- deleted.
CREATE TABLE scopes (
    scope_id bigint GENERATED ALWAYS AS IDENTITY,
    app_id bigint NOT NULL,
    environment apns_environment NOT NULL,
    CONSTRAINT scopes_pkey PRIMARY KEY (scope_id),
    -- An app is read with its two scopes.
    CONSTRAINT scopes_app_key UNIQUE (app_id, environment)
);

-- Deleted apps whose rows are not deleted yet: a sweep continues an interrupted deletion.
CREATE TABLE deleted_apps (
    app_id bigint NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deleted_apps_pkey PRIMARY KEY (app_id)
);

CREATE TYPE api_key_role AS ENUM ('client', 'sender', 'auditor', 'admin', 'root');

-- Only the SHA-256 of a key's secret is stored: 142 random bits need no salt and no slow hash.
-- Root keys belong to no app. They have app_id 0, which no app has (apps are numbered from 1).
CREATE TABLE api_keys (
    app_id bigint NOT NULL,
    -- The public part: 'prc_0aB1cD2eF3gH'.
    key_id text COLLATE "C" NOT NULL,
    role api_key_role NOT NULL,
    secret_digest bytea NOT NULL,
    name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    -- To the minute: each instance writes it at most that often.
    last_used_at timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (app_id, key_id),
    CONSTRAINT api_keys_digest_is_sha256 CHECK (octet_length(secret_digest) = 32),
    CONSTRAINT api_keys_root_belongs_to_no_app CHECK ((role = 'root') = (app_id = 0))
) WITH (fillfactor = 80);

-- A request's credentials name a key and no app. It is not unique, so it need not begin with the app: of two keys with
-- equal 71 random bits the digest tells. On Citus this small table is a reference table, like apps.
CREATE INDEX api_keys_by_id ON api_keys (key_id);
