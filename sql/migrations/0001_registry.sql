-- Every primary key and unique constraint begins with the app's number, and every hot statement names it: the same
-- schema runs on one Postgres and, distributed by app_number, on Citus. Text keys are compared byte by byte.

CREATE TYPE apns_environment AS ENUM ('sandbox', 'production');

CREATE TYPE end_reason AS ENUM ('ended', 'dismissed');

-- What the last request did to an activity's row. Statements that follow in the same transaction read it to write
-- the retired token and the audit event of exactly that request.
CREATE TYPE activity_outcome AS ENUM (
    'observed', 'registered', 'rotated', 'refreshed', 'reactivated', 'superseded', 'expired', 'dismissed', 'ended',
    'refused'
);

CREATE TYPE retirement_reason AS ENUM (
    'rotated', 'ended', 'expired', 'unregistered', 'taken-over', 'erased', 'purged'
);

CREATE TABLE apps (
    app_number bigint GENERATED ALWAYS AS IDENTITY,
    bundle_id text COLLATE "C" NOT NULL,
    name text,
    activity_lifetime interval NOT NULL,
    tombstone_retention interval NOT NULL,
    event_retention interval NOT NULL,
    alias_rules jsonb NOT NULL DEFAULT '{}',
    jwt jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT apps_pkey PRIMARY KEY (app_number),
    -- The one unique constraint without the app's number: on Citus this small table is a reference table.
    CONSTRAINT apps_bundle_id_key UNIQUE (bundle_id),
    CONSTRAINT apps_activity_lifetime_is_positive CHECK (activity_lifetime > '0'),
    CONSTRAINT apps_tombstones_outlive_activities CHECK (tombstone_retention >= activity_lifetime + interval '1 hour'),
    CONSTRAINT apps_event_retention_is_positive CHECK (event_retention > '0')
);

CREATE TABLE installations (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    -- SHA-256 over app and installation id; the id itself is never stored.
    installation_hash bytea NOT NULL,
    subject text,
    -- The greatest observedAt of its full states, and the one before it, for the statement that dismisses.
    full_state_at timestamptz,
    previous_full_state_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    metadata jsonb,
    metadata_observed_at timestamptz,
    touches bigint NOT NULL DEFAULT 0,
    CONSTRAINT installations_pkey PRIMARY KEY (app_number, environment, installation_hash)
) WITH (fillfactor = 80);

-- One row an activity, its tombstone included: were the tombstone a row of its own, an end and a registration that
-- meet head-on could miss each other. Everything here is a join (a greatest or a least) of what requests said, so the
-- order in which they come does not matter.
CREATE TABLE activities (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- Immutable; pages of an alias are ordered by it.
    activity_number bigint GENERATED ALWAYS AS IDENTITY,
    -- The token with the greatest (token_observed_at, token_digest); the bytes go when the activity ends.
    token bytea,
    token_digest bytea,
    token_observed_at timestamptz,
    -- The greatest observedAt of all, full states included: it is dismissed while this is before its installation's
    -- full_state_at.
    last_observed_at timestamptz,
    started_at timestamptz NOT NULL,
    -- The app's lifetime at the first receipt.
    lifetime interval NOT NULL,
    expires_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    -- The least (time, reason) of all ends. Never cleared: ended is final.
    ended_at timestamptz,
    end_reason end_reason,
    -- Facts: the first given stays, by (time given, value).
    installation_hash bytea,
    installation_observed_at timestamptz,
    subject text,
    subject_observed_at timestamptz,
    attributes_type text COLLATE "C",
    attributes_type_observed_at timestamptz,
    frequent_pushes_enabled boolean,
    frequent_pushes_enabled_observed_at timestamptz,
    -- Replaced as a whole, by the greatest (time given, value). {"kind": ["value", …]}, sorted.
    aliases jsonb,
    aliases_observed_at timestamptz,
    metadata jsonb,
    metadata_observed_at timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    -- What the last request did; see activity_outcome.
    outcome activity_outcome NOT NULL,
    displaced_digest bytea,
    displaced_observed_at timestamptz,
    created_at timestamptz NOT NULL,
    touches bigint NOT NULL DEFAULT 0,
    CONSTRAINT activities_pkey PRIMARY KEY (app_number, environment, activity_id),
    -- Resolve goes from an alias's row to the activity by its number.
    CONSTRAINT activities_number_key UNIQUE (app_number, activity_number),
    CONSTRAINT activities_token_is_whole CHECK (
        (token_digest IS NULL) = (token_observed_at IS NULL) AND (token IS NULL OR token_digest IS NOT NULL)
    ),
    CONSTRAINT activities_token_is_at_most_512_bytes CHECK (octet_length(token) <= 512),
    CONSTRAINT activities_ended_have_no_token CHECK (ended_at IS NULL OR token IS NULL),
    CONSTRAINT activities_end_is_whole CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
    CONSTRAINT activities_expire_by_lifetime CHECK (expires_at = started_at + lifetime)
) WITH (fillfactor = 80);

-- A full state finds the running activities of its installation.
CREATE INDEX activities_of_installation ON activities (app_number, environment, installation_hash)
    WHERE installation_hash IS NOT NULL AND ended_at IS NULL;

-- Who owns a token value: the activity with the greatest (observed_at, activity_id) that ever claimed it. A token is
-- handed out only where its activity's row and this row agree.
CREATE TABLE activity_tokens (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    token_digest bytea NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    observed_at timestamptz NOT NULL,
    -- The owner whom the last request displaced: the same transaction writes its retirement and audit event.
    displaced_activity_id text COLLATE "C",
    CONSTRAINT activity_tokens_pkey PRIMARY KEY (app_number, environment, token_digest),
    CONSTRAINT activity_tokens_digest_is_sha256 CHECK (octet_length(token_digest) = 32)
) WITH (fillfactor = 80);

-- Which activities bear an alias. Resolve reads (…, ended = false) in order of activity_number.
CREATE TABLE activity_aliases (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ended boolean NOT NULL,
    activity_number bigint NOT NULL,
    CONSTRAINT activity_aliases_pkey PRIMARY KEY (app_number, environment, kind, value, ended, activity_number)
);

-- A registration that replaces its aliases, and an end, find the rows of their activity.
CREATE INDEX activity_aliases_of_activity ON activity_aliases (app_number, activity_number);

-- Tokens that were, or would have been, an activity's current one: a registration without observedAt may not bring
-- one back. A row about the token that is current again is of an earlier time and does not count.
CREATE TABLE retired_tokens (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    token_digest bytea NOT NULL,
    observed_at timestamptz NOT NULL,
    reason retirement_reason NOT NULL,
    retired_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT retired_tokens_pkey PRIMARY KEY (app_number, environment, activity_id, token_digest)
);

-- An activity known only by (liveactivityId, owner): which of the ids that the server made is its latest, and when
-- it last ended under this name.
CREATE TABLE alias_identities (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    alias text COLLATE "C" NOT NULL,
    -- 'installation:' and the hash in hex, 'subject:' and the sub, or 'app'.
    owner text COLLATE "C" NOT NULL,
    -- The one that runs, or ran last; null while only an end is known.
    activity_id text COLLATE "C",
    -- An ended one, to which late requests are attributed.
    closed_activity_id text COLLATE "C",
    -- The greatest observedAt of its ends: whatever was observed no later belongs to an ended activity.
    ended_at timestamptz,
    touches bigint NOT NULL DEFAULT 0,
    CONSTRAINT alias_identities_pkey PRIMARY KEY (app_number, environment, alias, owner)
) WITH (fillfactor = 80);

-- What was registered under an alias identity, so that an end or a registration that comes late can still divide it
-- between two activities.
CREATE TABLE alias_registrations (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    alias text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    observed_at timestamptz NOT NULL,
    token_digest bytea NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- Both cleared once the activity is closed.
    token bytea,
    facts jsonb,
    CONSTRAINT alias_registrations_pkey
        PRIMARY KEY (app_number, environment, alias, owner, observed_at, token_digest)
);

-- A registration without observedAt asks whether its token was ever known under the identity.
CREATE INDEX alias_registrations_of_token
    ON alias_registrations (app_number, environment, alias, owner, token_digest);

-- Push-to-start tokens: one an installation and attributes type. Values may repeat.
CREATE TABLE start_tokens (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    installation_hash bytea NOT NULL,
    attributes_type text COLLATE "C" NOT NULL,
    token bytea,
    token_digest bytea,
    observed_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    deleted_at timestamptz,
    touches bigint NOT NULL DEFAULT 0,
    CONSTRAINT start_tokens_pkey PRIMARY KEY (app_number, environment, installation_hash, attributes_type)
) WITH (fillfactor = 80);

-- Tokens of ordinary remote notifications: one an installation. Never handed out as activity tokens.
CREATE TABLE device_tokens (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    installation_hash bytea NOT NULL,
    token bytea,
    token_digest bytea,
    observed_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    deleted_at timestamptz,
    touches bigint NOT NULL DEFAULT 0,
    CONSTRAINT device_tokens_pkey PRIMARY KEY (app_number, environment, installation_hash)
) WITH (fillfactor = 80);

-- The audit trail, written in the transaction of the change. Readers who follow it must follow transaction_id below
-- pg_snapshot_xmin(pg_current_snapshot()): event numbers become visible out of order.
CREATE TABLE events (
    app_number bigint NOT NULL,
    event_number bigint GENERATED ALWAYS AS IDENTITY,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    environment apns_environment,
    -- registered, rotated, reactivated, dismissed, ended, taken-over, app-created, app-changed, app-deleted, …
    type text COLLATE "C" NOT NULL,
    -- Key id or subject; 'insecure' without authentication.
    who text NOT NULL,
    activity_id text COLLATE "C",
    installation_hash bytea,
    -- The first 4 bytes of the token's SHA-256.
    token_fingerprint bytea,
    subject text,
    CONSTRAINT events_pkey PRIMARY KEY (app_number, event_number)
);

-- The audit trail of one activity, newest first.
CREATE INDEX events_of_activity ON events (app_number, environment, activity_id, event_number);

-- The one definition of "handed out": what a sender may see of an activity. Each line is a rule.
CREATE VIEW current_activities AS
SELECT
    a.app_number, a.environment, a.activity_number, a.activity_id, a.token, a.installation_hash, a.attributes_type,
    a.frequent_pushes_enabled, a.started_at, a.token_observed_at AS observed_at, a.confirmed_at, a.expires_at,
    a.revision
FROM activities a
-- One owner per token value.
JOIN activity_tokens t
    ON t.app_number = a.app_number AND t.environment = a.environment AND t.token_digest = a.token_digest
    AND t.activity_id = a.activity_id
-- Not missing from its installation's full state.
LEFT JOIN installations i
    ON i.app_number = a.app_number AND i.environment = a.environment AND i.installation_hash = a.installation_hash
WHERE a.ended_at IS NULL
    AND a.expires_at > now()
    AND (i.full_state_at IS NULL OR a.last_observed_at >= i.full_state_at);
