-- The schema of the push-token registry. A released migration never changes; a schema change is a new file.
--
-- Tables
--   apps                     An app's settings.
--   scopes                   An app in sandbox or in production. All data of clients belongs to a scope.
--   deleted_apps             Apps with rows still to delete.
--   api_keys                 Digests of API keys, with their roles.
--   installations            An app on a phone: user, profile, last full state and last log-out.
--   installation_aliases     Finds installations by alias.
--   activities               A Live Activity with its token, or its tombstone after the end.
--   activity_aliases         Finds activities by alias.
--   alias_identities         Activities known only by a name and an owner.
--   token_values             Everything known about a token's value, in all activities and installations.
--   installation_tokens      Start, device and widget tokens: a row for each slot of an installation.
--   quarantine_guards        The burst guards of feedback.
--   events, events_default   The audit trail and change feed, partitioned by the day on which events are dropped.
--   channels                 Broadcast channels of aliases.
--   channel_quotas           Locks for changes of an app's channels.
--   start_leases             A sender's right to start an activity on a phone.
--   erasures                 Salted digests of erased names.
--   counts                   Counts by kind and state, for metrics and charts.
--   schema_migrations        The applied migrations.
--
-- Views
--   app_records                                              Apps with their scopes.
--   deliverable_activities, deliverable_installation_tokens  The rows with tokens for senders. Nothing else decides.
--   explained_activities, explained_installation_tokens      All rows, with the reason why senders do not get a token.
--   sender_activities                                        The same activities, without aliases and metadata.
--   activity_explanations, installation_token_explanations   For the audit: also the time of the reason.
--   purgeable_tokens                                         The tokens that an admin may purge.
--
-- How a token flows. A registration locks its activity and the token's value, decides in Swift (RegistryRules), and
-- writes the changed rows and an event in one transaction. APNs reports, releases and purges change a value under these
-- locks too. They all store in the activity or token slot why the token is withheld, so that resolve reads no values.
-- Full states and log-outs write no activity, because reads of an activity compare their times.
--
-- No foreign keys. A value outlives its activity, because a late claim must lose to a later one. Erasures and the sweep
-- delete in pages, in an order that decides races; foreign keys would lock parents in another order.
--
-- Citus. The schema runs on one Postgres or, distributed by scope_id, on Citus: except in small reference tables, every
-- primary key contains scope_id, and every hot query names it. Text keys are compared bytewise (COLLATE "C").
--
-- Plans. The service plans each query once, without its values (plan_cache_mode = force_generic_plan), sometimes while
-- tables are almost empty. Such a plan considers all indexes that begin with the scope equal, and could scan the whole
-- scope. QueryPlanTests finds such plans. Precautions:
--   - A secondary index begins with the most selective column, or is partial with a condition that is always true, so
--     that only queries that name the condition use it.
--   - Several rows are looked up one by one (LATERAL with LIMIT 1), because a join could read all rows of the scope.
--   - Locked rows are written by ctid, with a numeric scope, so that no index is used instead.

CREATE TYPE apns_environment AS ENUM ('sandbox', 'production');

CREATE TABLE apps (
    app_id bigint GENERATED ALWAYS AS IDENTITY,
    bundle_id text COLLATE "C" NOT NULL,
    name text,
    activity_lifetime interval NOT NULL,
    tombstone_retention interval NOT NULL,
    event_retention interval NOT NULL,
    -- The greatest number of its dropped events. A follower of the change feed from before it has missed some. The
    -- retention cannot show this, because it may have been shorter before.
    events_dropped_to bigint NOT NULL DEFAULT 0,
    alias_rules jsonb NOT NULL DEFAULT '{}',
    -- The kinds of tokens besides the built-in ones: {"NAME": {"topicSuffix", "pushType", "per"}}.
    token_kinds jsonb NOT NULL DEFAULT '{}',
    jwt jsonb,
    -- Makes digests of erased names unguessable without the database.
    erasure_salt uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT apps_pkey PRIMARY KEY (app_id),
    -- Without scope_id, because this small table is a reference table on Citus.
    CONSTRAINT apps_bundle_id_key UNIQUE (bundle_id),
    CONSTRAINT apps_activity_lifetime_is_positive CHECK (activity_lifetime > '0'),
    CONSTRAINT apps_tombstones_outlive_activities CHECK (tombstone_retention >= activity_lifetime + interval '1 hour'),
    CONSTRAINT apps_event_retention_is_positive CHECK (event_retention > '0')
);

-- Each app has two scopes, created with it. They outlive the app until their rows are deleted.
CREATE TABLE scopes (
    scope_id bigint GENERATED ALWAYS AS IDENTITY,
    app_id bigint NOT NULL,
    environment apns_environment NOT NULL,
    CONSTRAINT scopes_pkey PRIMARY KEY (scope_id),
    CONSTRAINT scopes_app_key UNIQUE (app_id, environment)
);

-- Scopes are looked up one by one.
CREATE VIEW app_records AS
SELECT
    a.*, (SELECT s.scope_id FROM scopes s WHERE s.app_id = a.app_id AND s.environment = 'sandbox') AS sandbox,
    (SELECT s.scope_id FROM scopes s WHERE s.app_id = a.app_id AND s.environment = 'production') AS production
FROM apps a;

-- A sweep continues interrupted deletions.
CREATE TABLE deleted_apps (
    app_id bigint NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deleted_apps_pkey PRIMARY KEY (app_id)
);

CREATE TYPE api_key_role AS ENUM ('client', 'sender', 'auditor', 'admin', 'root');

-- Contains only the SHA-256 of a key's secret: 142 random bits need no salt and no slow hash. Root keys have app_id 0,
-- which no app uses.
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
    -- Written at most once per minute by each instance.
    last_used_at timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (app_id, key_id),
    CONSTRAINT api_keys_digest_is_sha256 CHECK (octet_length(secret_digest) = 32),
    CONSTRAINT api_keys_root_belongs_to_no_app CHECK ((role = 'root') = (app_id = 0))
) WITH (fillfactor = 80);

-- Credentials name a key but no app. The digest distinguishes two keys with equal 71 random bits. On Citus this small
-- table is a reference table.
CREATE INDEX api_keys_by_id ON api_keys (key_id);
