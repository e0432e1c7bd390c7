-- explain, 1: $1 bigint, $2 bigint, $3 bigint, $4 bigint, $5 text, $6 bigint, $7 text, $8 text, $9 text, $10 boolean, $11 bigint, $12 bigint
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM activity_aliases al
CROSS JOIN LATERAL (SELECT * FROM (SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, v.value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE v.value_verdict
    END AS verdict
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.app_number = $1 AND its.environment = a.environment
        AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.token_is_doubted THEN (
        SELECT CASE
            WHEN t.activity_id IS DISTINCT FROM a.activity_id THEN 'taken-over'
            WHEN t.installation_hash IS NOT NULL THEN 'kind-conflict'
            WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
            WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
            WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined'
        END
        FROM (SELECT) AS one LEFT JOIN LATERAL (
            SELECT * FROM token_values its
            WHERE its.app_number = $2 AND its.environment = a.environment AND its.token_digest = a.token_digest
            LIMIT 1
        ) AS t ON true
    ) END AS value_verdict
) AS v) bearer
    WHERE bearer.app_number = $3 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $4 AND its.environment = $5::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
WHERE al.app_number = $6 AND al.environment = $7::apns_environment
    AND al.kind = $8 AND al.value = $9
    AND (al.ended, al.activity_number) > ($10, $11)
ORDER BY al.ended, al.activity_number LIMIT $12;

-- explain, 2: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint, $7 bigint, $8 bigint, $9 text
SELECT r.kind, r.installation_hash, nullif(r.attributes_type, ''), coalesce(r.verdict, 'handed-out'), CASE r.verdict WHEN 'purged' THEN r.purged_at WHEN 'logged-out' THEN r.removed_at
    WHEN 'deleted' THEN r.deleted_at WHEN 'kind-conflict' THEN r.owned_at WHEN 'taken-over' THEN r.owned_at
    WHEN 'unregistered' THEN r.dead_at WHEN 'quarantined' THEN r.quarantined_at ELSE r.observed_at END, r.quarantine_reason, substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at
FROM (SELECT al.installation_hash FROM installation_aliases al
WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 ORDER BY al.installation_hash LIMIT $5) AS named CROSS JOIN LATERAL (SELECT * FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, i.flapped_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at, its.flapped_at FROM installations its
    WHERE its.app_number = $6 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $7 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) its
    WHERE its.app_number = $8 AND its.environment = $9::apns_environment AND its.installation_hash = named.installation_hash OFFSET 0) AS r
ORDER BY r.installation_hash, r.kind, r.attributes_type;

-- explain, 3: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 text, $7 text, $8 text, $9 bigint, $10 text, $11 text, $12 text, $13 bigint, $14 text, $15 text, $16 text, $17 bigint, $18 text, $19 text, $20 text
SELECT (SELECT x.erased_at FROM erasures x
        WHERE x.app_number = $1 AND x.environment = $2::apns_environment
            -- Of the app's salt first: joined, all erasures would be compared with it.
            AND x.erased_digest = (
                SELECT sha256(uuid_send(app.erasure_salt) || convert_to(given.name, 'UTF8'))
                FROM apps app CROSS JOIN (SELECT $3::text AS name) AS given
                WHERE app.app_number = $4
            )),
    (EXISTS (SELECT FROM activity_aliases al WHERE al.app_number = $5 AND al.environment = $6::apns_environment
    AND al.kind = $7 AND al.value = $8)
    OR EXISTS (SELECT FROM installation_aliases al WHERE al.app_number = $9 AND al.environment = $10::apns_environment
    AND al.kind = $11 AND al.value = $12)), (EXISTS (SELECT FROM activity_aliases al WHERE al.app_number = $13 AND al.environment = $14::apns_environment
    AND al.kind = $15 AND al.value = $16)
    OR EXISTS (SELECT FROM installation_aliases al WHERE al.app_number = $17 AND al.environment = $18::apns_environment
    AND al.kind = $19 AND al.value = $20));
