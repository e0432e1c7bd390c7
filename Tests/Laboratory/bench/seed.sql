-- Activities a-1 to a-:count of com.example.food, each with a token and an alias. If :fan_out is 0, the aliases are
-- (orderId, o-<n>) in sandbox; if it is 1, all activities have (matchId, m-1) in production. If :users is 0, they have no
-- owner; otherwise the users u-0 to u-<users - 1> own them in turns.
-- psql -v count=1000000 -v fan_out=0 -v users=0 -v environment=sandbox -f seed.sql
SET statement_timeout = 0;

SELECT s.scope_id AS scope FROM apps app JOIN scopes s ON s.app_id = app.app_id
WHERE app.bundle_id = 'com.example.food' AND s.environment = :'environment' \gset

INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
    token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, aliases, aliases_observed_at,
    subject, created_at)
SELECT :scope, 'a-' || n, t.token, substr(sha256(t.token), 1, 15), t.at, t.at, t.at, t.at,
    t.at + interval '8 hours', t.at,
    CASE WHEN :fan_out = 1 THEN '{"matchId": ["m-1"]}'
        ELSE jsonb_build_object('orderId', jsonb_build_array('o-' || n)) END,
    t.at, CASE WHEN :users > 0 THEN 'u-' || n % nullif(:users, 0) END, t.at
FROM generate_series(1, :count) AS n
CROSS JOIN LATERAL (
    SELECT int8send(n::bigint) || decode(repeat('ab', 72), 'hex') AS token, now() - interval '10 minutes' AS at
) AS t;

INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities
WHERE scope_id = :scope
ORDER BY token_digest;

INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
SELECT a.scope_id, kinds.key, kinds.value ->> 0, false, a.activity_key
FROM activities a CROSS JOIN jsonb_each(a.aliases) AS kinds
WHERE a.scope_id = :scope
ORDER BY 3, 5;
