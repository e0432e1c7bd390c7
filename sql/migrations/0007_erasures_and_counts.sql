-- Erased ids and names, as salted digests without personal data: what was observed no later does not come back.
CREATE TABLE erasures (
    scope_id bigint NOT NULL,
    -- SHA-256 over the app's salt and what was erased: an activity's id, an alias, an installation or a subject.
    erased_digest bytea NOT NULL,
    erased_at timestamptz NOT NULL,
    -- The digest comes first: a request asks for several at once, and by a key that begins with the scope a plan made while
    -- there were few would read all erasures of the scope.
    CONSTRAINT erasures_pkey PRIMARY KEY (erased_digest, scope_id)
);

-- Registrations read this table only while something was erased lately. Partial, so that no lookup by digests uses it.
CREATE INDEX erasures_recent ON erasures (scope_id, erased_at) WHERE erased_at > '-infinity';

-- Counts of activities and tokens over time, read by metrics, statistics and charts. The sweep adds a row every minute. It keeps
-- all rows for an hour, the last row of every five minutes for 25 hours, and the last row of every hour for 31 days.
CREATE TABLE counts (
    scope_id bigint NOT NULL,
    -- A whole minute, so that instances that count at once insert the same row: the first one stays.
    counted_at timestamptz NOT NULL,
    -- A large table is counted by a sample of its pages.
    is_estimated boolean NOT NULL,
    -- A count for each group of ages, by kind and state: {"activity": {"active": [2, 0, …]}, "update": {"current": [2, 0, …]}}.
    -- The age of an activity is the time since its start, the age of a token the time since its last confirmation. A missing
    -- kind or state has the count 0.
    ages jsonb NOT NULL,
    CONSTRAINT counts_pkey PRIMARY KEY (scope_id, counted_at)
);
