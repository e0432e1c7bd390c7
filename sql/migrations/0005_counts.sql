-- Counts of activities and tokens over time, read by metrics, statistics and charts. The sweep adds a row every minute. It keeps
-- all rows for an hour, the last row of every five minutes for 25 hours, and the last row of every hour for 31 days.
CREATE TABLE counts (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    -- A whole minute, so that instances that count at once insert the same row: the first one stays.
    counted_at timestamptz NOT NULL,
    -- A large table is counted by a sample of its pages.
    is_estimated boolean NOT NULL,
    -- A count for each group of ages, by kind and state: {"activity": {"active": [2, 0, …]}, "update": {"current": [2, 0, …]}}.
    -- The age of an activity is the time since its start, the age of a token the time since its last confirmation. A missing
    -- kind or state has the count 0.
    ages jsonb NOT NULL,
    CONSTRAINT counts_pkey PRIMARY KEY (app_number, environment, counted_at)
);
