-- Every primary key and unique constraint contains scope_id, and every hot statement names it: the same schema runs on one
-- Postgres and, distributed by scope_id, on Citus. Text keys are compared byte by byte.
--
-- A plan that was made while a table was empty takes all indexes that begin with the scope for equally good, and would walk
-- through all of the scope by any of them. So an index that is not the primary key begins with the column that tells rows apart,
-- or it is partial: only statements that name its condition use it.

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
