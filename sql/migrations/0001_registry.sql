-- Every primary key and unique constraint has the app's number, and every hot statement names it: the same schema runs
-- on one Postgres and, distributed by app_number, on Citus. Text keys are compared byte by byte.
--
-- A plan that was made while a table was empty takes all indexes that begin with the app and environment for equally good,
-- and would walk through all of the app by any of them. So an index beside the primary key begins with what tells rows
-- apart, or it is partial: who wants it says so, and nobody else gets it.

CREATE TYPE apns_environment AS ENUM ('sandbox', 'production');

CREATE TYPE end_reason AS ENUM ('ended', 'dismissed');

-- The effect of the last request on an activity's row. Statements that follow in the same transaction read it to write
-- the former claim and the audit event of exactly that request.
CREATE TYPE activity_outcome AS ENUM (
    'observed', 'registered', 'rotated', 'refreshed', 'reactivated', 'superseded', 'expired', 'dismissed', 'ended',
    'refused'
);

CREATE TABLE apps (
    app_number bigint GENERATED ALWAYS AS IDENTITY,
    bundle_id text COLLATE "C" NOT NULL,
    name text,
    activity_lifetime interval NOT NULL,
    tombstone_retention interval NOT NULL,
    event_retention interval NOT NULL,
    -- The greatest number of its events that were dropped: who follows the change feed from before it has missed some. The
    -- retention does not tell, for it may have been shorter once.
    events_dropped_to bigint NOT NULL DEFAULT 0,
    alias_rules jsonb NOT NULL DEFAULT '{}',
    jwt jsonb,
    -- Makes the digests of erased names unguessable without the database.
    erasure_salt uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT apps_pkey PRIMARY KEY (app_number),
    -- The one unique constraint without the app's number: on Citus this small table is a reference table.
    CONSTRAINT apps_bundle_id_key UNIQUE (bundle_id),
    CONSTRAINT apps_activity_lifetime_is_positive CHECK (activity_lifetime > '0'),
    CONSTRAINT apps_tombstones_outlive_activities CHECK (tombstone_retention >= activity_lifetime + interval '1 hour'),
    CONSTRAINT apps_event_retention_is_positive CHECK (event_retention > '0')
);

-- Apps that were deleted and of which rows are left: whatever interrupts their deletion, a sweep goes on with it.
CREATE TABLE deleted_apps (
    app_number bigint NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT deleted_apps_pkey PRIMARY KEY (app_number)
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
    -- The greatest time of its log-outs: what was observed no later is gone. A log-out is a full state without
    -- activities, too, so full_state_at is never before it.
    removed_at timestamptz,
    -- Whether the last request changed aliases or metadata, and the aliases that it took away: the same transaction writes the
    -- audit event.
    changed boolean NOT NULL DEFAULT false,
    displaced_aliases jsonb,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The random number of the request that locked the row last: by it the request's other statements know that it did.
    request_number bigint NOT NULL DEFAULT 0,
    -- The observedAt of that request, null where it gave none.
    request_observed_at timestamptz,
    CONSTRAINT installations_pkey PRIMARY KEY (app_number, environment, installation_hash)
) WITH (fillfactor = 80);

-- The sweep finds installations of which nobody has heard for long, and lists have those heard of last first.
CREATE INDEX installations_touched ON installations (app_number, environment, touched_at, installation_hash)
    WHERE touched_at > '-infinity';

-- An erasure finds the installations of a signed-in user.
CREATE INDEX installations_of_subject ON installations (app_number, environment, subject) WHERE subject IS NOT NULL;

-- One row an activity, its tombstone included: were the tombstone a row of its own, an end and a registration that
-- meet head-on could miss each other. Everything here is a join (a greatest or a least) of what requests said, so the
-- order in which they come does not matter.
CREATE TABLE activities (
    -- Columns that a rotation leaves as they are come first: of a changed row Postgres logs what lies between the first change
    -- and the last.
    app_number bigint NOT NULL,
    -- Immutable; pages of an alias are ordered by it.
    activity_number bigint GENERATED ALWAYS AS IDENTITY,
    created_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- The app's lifetime at the first receipt.
    lifetime interval NOT NULL,
    environment apns_environment NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    -- The least (time, reason) of all ends. Never cleared: ended is final.
    ended_at timestamptz,
    end_reason end_reason,
    -- When a sweep wrote down that it expired. Null again when a request says that it was scheduled for later: nothing else
    -- moves expires_at to a later time.
    expiry_recorded_at timestamptz,
    -- Facts: the first given stays, by (time given, value).
    installation_hash bytea,
    installation_observed_at timestamptz,
    subject text,
    subject_observed_at timestamptz,
    attributes_type text COLLATE "C",
    attributes_type_observed_at timestamptz,
    frequent_pushes_enabled boolean,
    frequent_pushes_enabled_observed_at timestamptz,
    -- When it starts, if it was scheduled for later than it was observed.
    starts_at timestamptz,
    starts_at_observed_at timestamptz,
    -- Replaced as a whole, by the greatest (time given, value). Aliases are {"kind": ["value", …]}, sorted.
    metadata jsonb,
    metadata_observed_at timestamptz,
    aliases jsonb,
    aliases_observed_at timestamptz,
    -- The token with the greatest (token_observed_at, token_digest); the bytes go when the activity ends or expires.
    token bytea,
    token_digest bytea,
    token_observed_at timestamptz,
    -- The client's claim on the token, which feedback is compared with: the greatest of the lesser of observedAt and
    -- receipt. And what it was before the last request, null where that brought another token.
    token_claimed_at timestamptz,
    previous_claimed_at timestamptz,
    -- Something may keep the token from senders: another owner of its value, another kind, a death, a quarantine; the
    -- value's row decides. Whoever writes such a thing there sets this in the same transaction, so while it is false the
    -- value's row need not be looked at, which is a third of a resolve's work. Only another token clears it.
    token_is_doubted boolean NOT NULL DEFAULT false,
    confirmed_at timestamptz,
    -- The greatest observedAt of all, full states included: it is dismissed while this is before its installation's
    -- full_state_at.
    last_observed_at timestamptz,
    revision bigint NOT NULL DEFAULT 1,
    -- The effect of the last request; see activity_outcome.
    outcome activity_outcome NOT NULL,
    -- Whether it gave the aliases that hold now, and those that it replaced.
    aliases_changed boolean NOT NULL DEFAULT false,
    displaced_aliases jsonb,
    -- Whether it changed another fact that a sender sees.
    facts_changed boolean NOT NULL DEFAULT false,
    -- The last receipt of anything about it. Written by every request, so that an answer is never a no-op's.
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The random number of the batch of requests that was merged last: by it the statements of one transaction know which
    -- rows are theirs.
    batch_number bigint NOT NULL DEFAULT 0,
    -- The last word of its installation as that batch saw it, by which the request is answered. All others ask the
    -- installation itself.
    installation_full_state_at timestamptz,
    installation_removed_at timestamptz,
    -- The column that tells rows apart comes first in the keys that are looked up whole: all rows of an app are alike in
    -- the rest, and would have to be compared by it at every step.
    CONSTRAINT activities_pkey PRIMARY KEY (activity_id, app_number, environment),
    CONSTRAINT activities_token_is_whole CHECK (
        (token_digest IS NULL) = (token_observed_at IS NULL) AND (token_digest IS NULL) = (token_claimed_at IS NULL)
        AND (token IS NULL OR token_digest IS NOT NULL)
    ),
    CONSTRAINT activities_token_is_at_most_512_bytes CHECK (octet_length(token) <= 512),
    CONSTRAINT activities_over_have_no_token CHECK (
        (ended_at IS NULL AND expiry_recorded_at IS NULL) OR token IS NULL
    ),
    CONSTRAINT activities_end_is_whole CHECK ((ended_at IS NULL) = (end_reason IS NULL)),
    CONSTRAINT activities_expire_by_lifetime CHECK (expires_at = greatest(started_at, starts_at) + lifetime)
) WITH (fillfactor = 80);

-- Resolve goes from an alias's row to the activity by its number, which no two have; exports and the audit go through an
-- app's activities by it. Partial, so that only statements that say so are sent through it: else who asks for several ids,
-- by a plan that was made while the table was empty, would walk through all of the app here.
CREATE INDEX activities_of_number ON activities (app_number, activity_number) WHERE activity_number > 0;

-- A full state finds the running activities of its installation, and a log-out ends them in pages by their numbers; an
-- erasure finds all of them.
CREATE INDEX activities_of_installation
    ON activities (app_number, environment, installation_hash, (ended_at IS NULL), activity_number)
    WHERE installation_hash IS NOT NULL;

-- An erasure finds the activities of a signed-in user.
CREATE INDEX activities_of_subject ON activities (app_number, environment, subject) WHERE subject IS NOT NULL;

-- The sweep finds what has expired, and the burst guard counts what has not.
CREATE INDEX activities_running ON activities (app_number, environment, expires_at)
    WHERE ended_at IS NULL AND expiry_recorded_at IS NULL;

-- The sweep finds tombstones past their retention.
CREATE INDEX activities_over ON activities (app_number, environment, expires_at)
    WHERE ended_at IS NOT NULL OR expiry_recorded_at IS NOT NULL;

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
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    token_digest bytea NOT NULL,
    -- The activity with the greatest (observed_at, activity_id) that ever claimed it; it stays after rotation and end.
    activity_id text COLLATE "C",
    activity_number bigint,
    observed_at timestamptz,
    -- The owner whom the last request displaced, and its claim: the same transaction writes both down elsewhere.
    displaced_activity_id text COLLATE "C",
    displaced_observed_at timestamptz,
    -- The last request found it without an owner.
    is_newly_owned boolean NOT NULL DEFAULT false,
    -- The same for kinds that installations hold. A value that has this is never handed out as an activity token.
    installation_kind text COLLATE "C",
    installation_hash bytea,
    installation_observed_at timestamptz,
    displaced_installation_hash bytea,
    -- The last claim as a start token. Several installations and types may have the value, so nobody owns it.
    start_observed_at timestamptz,
    displaced_installation_kind text COLLATE "C",
    -- The last request was the first to say so: whoever had the value until then loses it in the same transaction.
    became_installations boolean NOT NULL DEFAULT false,
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
    CONSTRAINT token_values_pkey PRIMARY KEY (token_digest, app_number, environment),
    CONSTRAINT token_values_digest_is_sha256 CHECK (octet_length(token_digest) = 32),
    CONSTRAINT token_values_owner_is_whole CHECK (
        (activity_id IS NULL) = (observed_at IS NULL) AND (activity_id IS NULL) = (activity_number IS NULL)
    ),
    CONSTRAINT token_values_installation_is_whole CHECK (
        (installation_hash IS NULL) = (installation_observed_at IS NULL)
        AND (installation_hash IS NULL) = (installation_kind IS NULL)
    ),
    CONSTRAINT token_values_quarantine_is_whole CHECK (
        (quarantined_at IS NULL) = (quarantined_kind IS NULL) AND (quarantined_at IS NULL) = (quarantine_reason IS NULL)
    )
) WITH (fillfactor = 80);

-- The sweep and the audit find all tokens that an activity had, but those that another has claimed since.
CREATE INDEX token_values_of_activity ON token_values (activity_number, app_number) WHERE activity_number IS NOT NULL;

-- The burst guard counts and releases the last minutes' quarantines.
CREATE INDEX token_values_quarantined ON token_values (app_number, environment, quarantined_kind, quarantined_at)
    WHERE quarantined_at IS NOT NULL;

-- The sweep finds values that nobody ever registered.
CREATE INDEX token_values_unclaimed ON token_values (app_number, environment, touched_at)
    WHERE activity_id IS NULL AND installation_hash IS NULL AND start_observed_at IS NULL;

-- The sweep looks at values of installations that were not touched for long.
CREATE INDEX token_values_of_installations ON token_values (app_number, environment, touched_at)
    WHERE activity_id IS NULL AND (installation_hash IS NOT NULL OR start_observed_at IS NOT NULL);

-- An erasure finds the values that an installation owns, and those that another took from it last. Only the erasure names
-- these conditions, so the planner never uses the indexes for a value that it should look up by its digest.
CREATE INDEX token_values_of_installation ON token_values (installation_hash, app_number, environment)
    WHERE installation_hash > '';
CREATE INDEX token_values_displaced ON token_values (displaced_installation_hash, app_number, environment)
    WHERE displaced_installation_hash > '';

-- Whether too many tokens of a kind were reported at once, which is a sender's fault and not the tokens'. Feedback
-- that would quarantine locks these rows first.
CREATE TABLE quarantine_guards (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- Since when nothing is quarantined, null while the guard is not on.
    tripped_at timestamptz,
    -- The last report that would have quarantined; the guard stays on until ten minutes have passed without one.
    reported_at timestamptz,
    CONSTRAINT quarantine_guards_pkey PRIMARY KEY (app_number, environment, kind)
);

-- Which activities bear an alias. Resolve reads (…, ended = false) in order of activity_number; others find an
-- activity's rows by its column of aliases, so this needs no second index. Ended or expired is the same here.
CREATE TABLE activity_aliases (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    ended boolean NOT NULL,
    activity_number bigint NOT NULL,
    CONSTRAINT activity_aliases_pkey PRIMARY KEY (value, kind, app_number, environment, ended, activity_number)
);

-- Claims that lost their value to another activity: the value's row keeps the one of its owner. By them a token that comes
-- again without a time of its own still counts from when it was claimed.
CREATE TABLE former_claims (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    activity_id text COLLATE "C" NOT NULL,
    token_digest bytea NOT NULL,
    -- The greatest.
    observed_at timestamptz NOT NULL,
    CONSTRAINT former_claims_pkey PRIMARY KEY (activity_id, token_digest, app_number, environment)
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
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT alias_identities_pkey PRIMARY KEY (app_number, environment, alias, owner)
) WITH (fillfactor = 80);

-- The sweep finds identities past their retention.
CREATE INDEX alias_identities_touched ON alias_identities (app_number, environment, touched_at)
    WHERE touched_at > '-infinity';

-- An erasure finds what an installation or a signed-in user owns. What the app owns may be all there is.
CREATE INDEX alias_identities_of_owner ON alias_identities (owner, app_number, environment) WHERE owner <> 'app';

-- The registrations under an alias identity, so that an end or a registration that comes late can still divide them
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

-- The aliases that start and device tokens are found by.
CREATE TABLE installation_aliases (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    installation_hash bytea NOT NULL,
    CONSTRAINT installation_aliases_pkey PRIMARY KEY (app_number, environment, kind, value, installation_hash)
);

-- An installation's rows are brought in step with its column of aliases.
CREATE INDEX installation_aliases_of_installation
    ON installation_aliases (installation_hash, app_number, environment);

-- Tokens of installations: one for each kind, or for each attributes type where the kind says so. Never handed out as
-- activity tokens.
CREATE TABLE installation_tokens (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    installation_hash bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- Empty for kinds that an installation has one of.
    attributes_type text COLLATE "C" NOT NULL,
    -- The kind's, for indexes to know it.
    has_one_owner boolean NOT NULL,
    -- Immutable; whoever goes through all of a kind does so by it.
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
    -- The effect of the last request.
    outcome activity_outcome NOT NULL,
    previous_claimed_at timestamptz,
    -- When its installation had logged out, as the last registration saw it. All others ask the installation itself.
    installation_removed_at timestamptz,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT installation_tokens_pkey
        PRIMARY KEY (app_number, environment, installation_hash, kind, attributes_type),
    CONSTRAINT installation_tokens_kind_fkey
        FOREIGN KEY (kind, has_one_owner) REFERENCES token_kinds (kind, has_one_owner),
    CONSTRAINT installation_tokens_token_is_whole CHECK (
        (token_digest IS NULL) = (observed_at IS NULL) AND (token_digest IS NULL) = (claimed_at IS NULL)
        AND (token IS NULL OR token_digest IS NOT NULL)
    ),
    CONSTRAINT installation_tokens_token_is_at_most_512_bytes CHECK (octet_length(token) <= 512)
) WITH (fillfactor = 80);

-- Exports and the audit go through an app's tokens of a kind by their numbers, and the burst guard counts them.
CREATE INDEX installation_tokens_of_number ON installation_tokens (app_number, environment, kind, token_number)
    WHERE token_number > 0;

-- Feedback names a value: which tokens have it now. One that has an owner is found by that.
CREATE INDEX installation_tokens_of_value ON installation_tokens (app_number, environment, token_digest)
    WHERE NOT has_one_owner AND token_digest IS NOT NULL;

-- The sweep finds tombstones past their retention.
CREATE INDEX installation_tokens_removed ON installation_tokens (app_number, environment, touched_at)
    WHERE token IS NULL;

-- Broadcast channels: at most one an alias.
CREATE TABLE channels (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    channel_id text COLLATE "C" NOT NULL,
    -- As APNs has it: 0 stores no message, 1 the most recent one.
    message_storage_policy bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channels_pkey PRIMARY KEY (app_number, environment, kind, value),
    CONSTRAINT channels_id_is_at_most_128_bytes CHECK (octet_length(channel_id) BETWEEN 1 AND 128),
    CONSTRAINT channels_policy_is_known CHECK (message_storage_policy IN (0, 1))
);

-- Channels are counted against Apple's quota.
CREATE INDEX channels_of_id ON channels (channel_id, app_number, environment);

-- A request that sets or deletes a channel locks the app's row here, so that two cannot both be the last within the quota.
CREATE TABLE channel_quotas (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT channel_quotas_pkey PRIMARY KEY (app_number, environment)
);

-- Erased ids and names, as salted digests without personal data: what was observed no later does not come back.
CREATE TABLE erasures (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    -- SHA-256 over the app's salt and what was erased: an activity's id, an alias, an installation or a subject.
    erased_digest bytea NOT NULL,
    erased_at timestamptz NOT NULL,
    -- The digest comes first: a request asks for several at once, and by a key that begins with the app a plan made while
    -- there were few would read all that the app ever erased.
    CONSTRAINT erasures_pkey PRIMARY KEY (erased_digest, app_number, environment)
);

-- Registrations look into this table only while something was erased lately. Partial, so that nobody who asks for digests
-- can be sent through it.
CREATE INDEX erasures_recent ON erasures (app_number, environment, erased_at) WHERE erased_at > '-infinity';

-- The audit trail, written in the transaction of the change. Event numbers become visible out of order: who follows it must
-- not go by them alone. Partitioned by the day from
-- which an event may go (its day and the app's retention), so that what is past its retention is dropped, not deleted.
CREATE TABLE events (
    app_number bigint NOT NULL,
    -- Before the number, for defaults are computed in the order of the columns: whoever draws a number has an id by then, and
    -- the change feed counts on it.
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_number bigint GENERATED ALWAYS AS IDENTITY,
    drop_on date NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    environment apns_environment,
    -- registered, rotated, reactivated, dismissed, ended, taken-over, app-created, app-changed, …
    type text COLLATE "C" NOT NULL,
    -- Key id or subject; 'insecure' without authentication.
    who text NOT NULL,
    activity_id text COLLATE "C",
    installation_hash bytea,
    -- The first 4 bytes of the token's SHA-256.
    token_fingerprint bytea,
    subject text,
    -- Those that the activity or installation had then; where they changed, those that it lost as well.
    aliases jsonb,
    -- The kind of the installation's token that it is about, and the attributes type where the kind has one a type.
    token_kind text COLLATE "C",
    attributes_type text COLLATE "C",
    CONSTRAINT events_pkey PRIMARY KEY (app_number, event_number, drop_on)
) PARTITION BY RANGE (drop_on);

-- Takes what comes before a sweep has made the day's partition; such rows are deleted one by one.
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- The audit trail of one activity, newest first.
CREATE INDEX events_of_activity ON events (app_number, environment, activity_id, event_number);

-- The state of an activity. A function, for an answer tells it of the row that the request's own statement returns,
-- which no view shows yet. Postgres puts the expression itself wherever it is called.
CREATE FUNCTION activity_state(
    ended_at timestamptz, started_at timestamptz, expires_at timestamptz, last_observed_at timestamptz,
    removed_at timestamptz, full_state_at timestamptz
) RETURNS text LANGUAGE sql STABLE RETURN CASE
    WHEN ended_at IS NOT NULL THEN 'ended'
    WHEN expires_at <= now() THEN 'expired'
    -- Started before its installation logged out, it ended with that, also when it became known later.
    WHEN removed_at >= started_at THEN 'ended'
    -- Missing from its installation's full state.
    WHEN full_state_at > last_observed_at THEN 'dismissed'
    ELSE 'active'
END;

-- The one definition of why an activity's token is withheld, in the order in which reasons count; null where it is handed
-- out. Each line is a rule. Other views, lists, counts and explanations all ask here, those about one app by this very text
-- with the app's number in place of "….app_number = ….app_number", for a distributed Postgres to see that it is one.
CREATE VIEW activity_verdicts AS
SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        -- Expired, dismissed.
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
-- A subquery, so that an installation is looked up by its key, and only where an activity names one and has not ended: of a
-- plain join the planner may make a reading of the whole table, for each activity while it is empty.
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = a.app_number AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
-- The verdict of the value's row, which is looked at only where it may say something.
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            -- One owner per token value.
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            -- Kinds are kept apart.
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            -- Not claimed later than an admin purged it, than APNs said it dead, than it was quarantined.
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = a.app_number AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v;

-- The activities as a sender may see them.
CREATE VIEW current_activities AS SELECT * FROM activity_verdicts r WHERE r.verdict IS NULL;

-- The same definition for tokens of installations. Values and installations are looked up for each token by itself, as above.
CREATE VIEW installation_token_verdicts AS
SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        -- Kinds are kept apart.
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        -- Not claimed later than APNs said it dead, than it was quarantined.
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.app_number = r.app_number AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = r.app_number AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true;

-- The tokens of installations as a sender may see them.
CREATE VIEW current_installation_tokens AS SELECT * FROM installation_token_verdicts r WHERE r.verdict IS NULL;

-- The rows that are current with a token value, apart from what APNs said of it: feedback acts on them. A dismissed activity may
-- come back, so its token is among them.
CREATE VIEW token_holders AS
SELECT t.app_number, t.environment, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id,
    h.installation_hash, h.subject, h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at, a.activity_id, a.installation_hash,
        a.subject, a.aliases
    FROM activities a
    WHERE a.app_number = t.app_number AND a.environment = t.environment AND a.activity_id = t.activity_id
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now()
        AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM installation_token_verdicts r
    WHERE r.app_number = t.app_number AND r.environment = t.environment AND r.installation_hash = t.installation_hash
        AND r.kind = t.installation_kind AND r.token_digest = t.token_digest
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    -- No value of an installation's own is anybody's whose values repeat.
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM installation_token_verdicts r
    WHERE r.app_number = t.app_number AND r.environment = t.environment AND NOT r.has_one_owner
        AND r.token_digest = t.token_digest AND t.installation_hash IS NULL
        AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h;
