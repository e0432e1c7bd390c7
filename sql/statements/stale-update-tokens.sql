-- stale update tokens, 1: $1 bigint, $2 bigint, $3 bigint
SELECT max(s.number) AS last, count(*) AS count FROM (
    SELECT r.activity_key AS number FROM activities r
    WHERE r.scope_id = $1 AND r.activity_key > 0
 AND r.activity_key > $2
    ORDER BY r.activity_key LIMIT $3
) AS s;

-- stale update tokens, 2: $1 interval, $2 bigint, $3 bigint, $4 interval, $5 bigint, $6 text, $7 interval, $8 bigint, $9 bigint, $10 bigint, $11 bigint
SELECT s.number, s.reasons, substr(s.token_digest, 1, 4), s.observed_at, s.confirmed_at, now(), s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.expires_at <= now() THEN 'expired' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons FROM (SELECT s.scope_id, s.activity_key AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.value_verdict AS verdict
FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $2 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) s
WHERE s.token IS NOT NULL AND true) AS r
    WHERE r.scope_id = $3 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $5 AND q.quarantined_kind = $6 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.expires_at <= now() OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $8 AND r.number <= $9 ORDER BY r.number LIMIT $10
) AS s
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.scope_id = $11
    AND its.token_digest = s.token_digest LIMIT 1) AS t ON true
ORDER BY s.number;

-- stale update tokens, 3: $1 interval, $2 bigint, $3 bigint, $4 interval, $5 bigint, $6 text, $7 interval, $8 bigint, $9 bigint
SELECT array_remove(ARRAY[CASE WHEN greatest(r.confirmed_at, r.starts_at) <= now() - $1 THEN 'unconfirmed' END, CASE WHEN r.expires_at <= now() THEN 'expired' END, CASE WHEN r.verdict = 'quarantined' THEN 'quarantined' END], NULL) AS reasons, count(*) FROM (SELECT s.scope_id, s.activity_key AS number, s.installation_hash,
    s.token_digest, s.confirmed_at, s.activity_id, s.attributes_type, s.token_observed_at AS observed_at, s.expires_at, s.starts_at,
s.value_verdict AS verdict
FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = $2 AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s) s
WHERE s.token IS NOT NULL AND true) AS r
WHERE r.scope_id = $3 AND true AND (greatest(r.confirmed_at, r.starts_at) <= now() - $4 OR r.expires_at <= now() OR r.token_digest IN (SELECT q.token_digest FROM token_values q
    WHERE q.scope_id = $5 AND q.quarantined_kind = $6 AND q.quarantined_at IS NOT NULL)) AND (greatest(r.confirmed_at, r.starts_at) <= now() - $7 OR r.expires_at <= now() OR r.verdict = 'quarantined')
AND (r.verdict = 'quarantined') IS NOT FALSE AND r.number > 0 AND r.number > $8 AND r.number <= $9
GROUP BY 1;
