-- How many tokens of each kind would have been pushed to, over time: charts need what nothing else here remembers. The
-- sweep adds a row every five minutes and, after a day, keeps the last of each hour.
CREATE TABLE token_counts (
    app_number bigint NOT NULL,
    environment apns_environment NOT NULL,
    -- A multiple of five minutes, so that instances that count at once write the same row.
    counted_at timestamptz NOT NULL,
    -- The count of each kind; a kind that is missing had none.
    counts jsonb NOT NULL,
    CONSTRAINT token_counts_pkey PRIMARY KEY (app_number, environment, counted_at)
);
