-- Activities a-1 to a-:count of com.example.food in sandbox, each with its token and under the alias (orderId, o-<n>).
-- psql -v count=1000000 -f seed.sql
SET statement_timeout = 0;

INSERT INTO activities (app_number, environment, activity_id, token, token_digest, token_observed_at,
    token_claimed_at, last_observed_at, started_at, lifetime, expires_at, confirmed_at, aliases, aliases_observed_at,
    outcome, created_at)
SELECT app.app_number, 'sandbox', 'a-' || n, t.token, sha256(t.token), t.at, t.at, t.at, t.at, '8 hours',
    t.at + interval '8 hours', t.at, jsonb_build_object('orderId', jsonb_build_array('o-' || n)), t.at, 'registered',
    t.at
FROM apps app CROSS JOIN generate_series(1, :count) AS n
CROSS JOIN LATERAL (
    SELECT int8send(n::bigint) || decode(repeat('ab', 72), 'hex') AS token, now() - interval '10 minutes' AS at
) AS t
WHERE app.bundle_id = 'com.example.food';

INSERT INTO token_values (app_number, environment, token_digest, activity_id, observed_at)
SELECT app_number, environment, token_digest, activity_id, token_observed_at FROM activities
ORDER BY token_digest;

INSERT INTO activity_aliases (app_number, environment, kind, value, ended, activity_number)
SELECT app_number, environment, 'orderId', 'o-' || substr(activity_id, 3), false, activity_number FROM activities
ORDER BY 4;

VACUUM ANALYZE;
