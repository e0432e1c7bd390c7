-- explain, 1 of 3: $1 bigint, $2 bigint, $3 text, $4 bigint, $5 text, $6 text, $7 text, $8 boolean, $9 bigint, $10 bigint
SELECT al.activity_number, al.ended, a.activity_id, a.state, coalesce(a.verdict, 'handed-out'), CASE a.verdict WHEN 'ended' THEN a.ended_at WHEN 'logged-out' THEN a.removed_at
    WHEN 'expired' THEN a.expires_at WHEN 'dismissed' THEN a.full_state_at WHEN 'no-token' THEN NULL
    WHEN 'taken-over' THEN t.observed_at WHEN 'kind-conflict' THEN t.installation_observed_at
    WHEN 'purged' THEN t.purged_at WHEN 'unregistered' THEN t.dead_at
    WHEN 'quarantined' THEN t.quarantined_at ELSE a.token_observed_at END, a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4), a.installation_hash, a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at), a.confirmed_at, a.expires_at, t.delivered_at
FROM activity_aliases al
CROSS JOIN LATERAL (SELECT * FROM activity_verdicts bearer
    WHERE bearer.app_number = $1 AND bearer.activity_number = al.activity_number
        AND bearer.activity_number > 0 LIMIT 1) AS a
LEFT JOIN LATERAL (SELECT * FROM token_values its WHERE its.app_number = $2 AND its.environment = $3::apns_environment
    AND its.token_digest = a.token_digest LIMIT 1) AS t ON true
WHERE al.app_number = $4 AND al.environment = $5::apns_environment
    AND al.kind = $6 AND al.value = $7
    AND (al.ended, al.activity_number) > ($8, $9)
ORDER BY al.ended, al.activity_number LIMIT $10;

-- explain, 2 of 3: $1 bigint, $2 text, $3 text, $4 text, $5 bigint, $6 bigint, $7 text
SELECT r.kind, r.installation_hash, nullif(r.attributes_type, ''), coalesce(r.verdict, 'handed-out'), CASE r.verdict WHEN 'purged' THEN r.purged_at WHEN 'logged-out' THEN r.removed_at
    WHEN 'deleted' THEN r.deleted_at WHEN 'kind-conflict' THEN r.owned_at WHEN 'taken-over' THEN r.owned_at
    WHEN 'unregistered' THEN r.dead_at WHEN 'quarantined' THEN r.quarantined_at ELSE r.observed_at END, r.quarantine_reason, substr(r.token_digest, 1, 4), r.observed_at, r.confirmed_at
FROM (SELECT al.installation_hash FROM installation_aliases al
WHERE al.app_number = $1 AND al.environment = $2::apns_environment
    AND al.kind = $3 AND al.value = $4 ORDER BY al.installation_hash LIMIT $5) AS named CROSS JOIN LATERAL (SELECT * FROM installation_token_verdicts its
    WHERE its.app_number = $6 AND its.environment = $7::apns_environment AND its.installation_hash = named.installation_hash OFFSET 0) AS r
ORDER BY r.installation_hash, r.kind, r.attributes_type;

-- explain, 3 of 3: $1 bigint, $2 text, $3 text, $4 bigint, $5 bigint, $6 text, $7 text, $8 text, $9 bigint, $10 text, $11 text, $12 text, $13 bigint, $14 text, $15 text, $16 text, $17 bigint, $18 text, $19 text, $20 text
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
