-- Erased ids and names, as salted digests without personal data. Observations at or before an erasure do not restore
-- the data.
CREATE TABLE erasures (
    scope_id bigint NOT NULL,
    -- SHA-256 of the app's salt and the erased name: an activity's id, an alias, an installation or a subject.
    erased_digest bytea NOT NULL,
    erased_at timestamptz NOT NULL,
    -- The digest comes first, because requests look up several at once, and a plan made while the table was small would
    -- scan all erasures of the scope.
    CONSTRAINT erasures_pkey PRIMARY KEY (erased_digest, scope_id)
);

-- Registrations read the table only if a recent erasure exists. Partial, so that lookups by digest do not use it.
CREATE INDEX erasures_recent ON erasures (scope_id, erased_at) WHERE erased_at > '-infinity';

-- Counts of activities and tokens, for metrics, statistics and charts. The sweep adds a row every minute. All rows are
-- kept for an hour, the last of every five minutes for 25 hours, the last of every hour for 31 days.
CREATE TABLE counts (
    scope_id bigint NOT NULL,
    -- A whole minute, so that concurrent instances insert the same row; the first stays.
    counted_at timestamptz NOT NULL,
    -- Large tables are counted by a sample of pages.
    is_estimated boolean NOT NULL,
    -- Counts by age group, by kind and state: {"activity": {"active": [2, 0, …]}, "update": {"current": [2, 0, …]}}. An
    -- activity's age begins at its start, a token's at its last confirmation. A missing kind or state counts 0.
    ages jsonb NOT NULL,
    -- The first unrecorded expiry, or now. Sweeps start here: an old snapshot keeps earlier entries in the index.
    swept_to timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT counts_pkey PRIMARY KEY (scope_id, counted_at)
);
