-- Activities a-1 to a-:count of com.example.food, each with its token and under an alias: (orderId, o-<n>) in sandbox,
-- where :fan_out is 0; all under (matchId, m-1) in production, where it is 1. They are nobody's where :users is 0, else those
-- of the users u-0 to u-<users - 1> in turns.
-- psql -v count=1000000 -v fan_out=0 -v users=0 -v environment=sandbox -f seed.sql
SET statement_timeout = 0;

INSERT INTO activities (app_number, environment, activity_id, token, token_digest, token_observed_at,
    token_claimed_at, last_observed_at, started_at, lifetime, expires_at, confirmed_at, aliases, aliases_observed_at,
    subject, subject_observed_at, outcome, created_at)
SELECT app.app_number, :'environment', 'a-' || n, t.token, sha256(t.token), t.at, t.at, t.at, t.at, '8 hours',
    t.at + interval '8 hours', t.at,
    CASE WHEN :fan_out = 1 THEN '{"matchId": ["m-1"]}'
        ELSE jsonb_build_object('orderId', jsonb_build_array('o-' || n)) END,
    t.at, CASE WHEN :users > 0 THEN 'u-' || n % nullif(:users, 0) END, CASE WHEN :users > 0 THEN t.at END, 'registered', t.at
FROM apps app CROSS JOIN generate_series(1, :count) AS n
CROSS JOIN LATERAL (
    SELECT int8send(n::bigint) || decode(repeat('ab', 72), 'hex') AS token, now() - interval '10 minutes' AS at
) AS t
WHERE app.bundle_id = 'com.example.food';

INSERT INTO token_values (app_number, environment, token_digest, activity_id, activity_number, observed_at)
SELECT app_number, environment, token_digest, activity_id, activity_number, token_observed_at FROM activities
WHERE environment = :'environment'
ORDER BY token_digest;

INSERT INTO activity_aliases (app_number, environment, kind, value, ended, activity_number)
SELECT a.app_number, a.environment, kinds.key, kinds.value ->> 0, false, a.activity_number
FROM activities a CROSS JOIN jsonb_each(a.aliases) AS kinds
WHERE a.environment = :'environment'
ORDER BY 4, 6;
