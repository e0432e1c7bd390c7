-- How many activities and tokens there are, over time; metrics, statistics and charts all read these rows. The sweep adds a row
-- every minute. Of what is older than an hour it keeps the last row of every five minutes, of what is older than 25 hours the
-- last of every hour, and deletes all after 31 days.
CREATE TABLE counts (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    -- A whole minute, so that instances that count at once write the same row; the first one stays.
    counted_at timestamptz NOT NULL,
    -- Whether a sample was counted because a table is large.
    is_estimated boolean NOT NULL,
    -- By kind and state, how many there are in each group of ages: {"activity": {"active": [2, 0, …]}, "update": {"current":
    -- [2, 0, …]}}. The age of activities is the time since they started, that of tokens the time since they were confirmed.
    -- A kind or state that is missing had none.
    ages jsonb NOT NULL,
    CONSTRAINT counts_pkey PRIMARY KEY (app_number, environment, counted_at)
);
