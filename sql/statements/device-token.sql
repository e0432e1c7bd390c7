-- device token, 1 of 10: $1 text, $2 bytea, $3 bigint, $4 text, $5 boolean, $6 timestamp with time zone, $7 bigint, $8 timestamp with time zone, $9 bigint, $10 text, $11 interval, $12 bigint, $13 text, $14 text[], $15 timestamp with time zone, $16 timestamp with time zone
INSERT INTO installations AS stored (app_number, environment, installation_hash, request_number, subject, subject_observed_at)
SELECT app.app_number, $1::apns_environment, $2, $3, $4,
    CASE WHEN $5 THEN coalesce($6, clock_timestamp()) END
FROM apps app
WHERE app.app_number = $7 AND coalesce($8 <= now() + interval '5 minutes', true)
    AND NOT (coalesce((SELECT recent.erased_at FROM erasures recent WHERE recent.app_number = $9 AND recent.environment = $10::apns_environment AND recent.erased_at > '-infinity'
    ORDER BY recent.erased_at DESC LIMIT 1) > now() - $11, false) AND EXISTS (
    SELECT FROM erasures erased
    WHERE erased.app_number = $12 AND erased.environment = $13::apns_environment
        AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($14) AS named (name)))
        AND (erased.erased_digest = NULL OR erased.erased_at >= coalesce($15, now()))
)) IS TRUE
ON CONFLICT (app_number, environment, installation_hash) DO UPDATE SET
    touched_at = excluded.touched_at, request_number = excluded.request_number,
    subject = coalesce(stored.subject,
    CASE WHEN coalesce($16 > stored.removed_at, true) THEN excluded.subject END) WHERE true
RETURNING stored.xmax = 0;

-- device token, 2 of 10: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea
SELECT FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = (
    SELECT t.activity_id FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment
        AND t.token_digest = sha256($5)
)
FOR UPDATE;

-- device token, 3 of 10: $1 text, $2 bytea, $3 text, $4 text, $5 boolean, $6 bytea, $7 bytea, $8 timestamp with time zone, $9 timestamp with time zone, $10 bytea, $11 timestamp with time zone, $12 bigint, $13 text, $14 bytea, $15 text, $16 text, $17 bigint, $18 text, $19 bytea, $20 bigint, $21 bigint, $22 text, $23 bytea, $24 bigint
INSERT INTO installation_tokens AS stored (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
    observed_at, claimed_at, confirmed_at, outcome
)
SELECT app.app_number, $1::apns_environment, $2, $3,
    $4, $5,
    CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN $6 END, sha256($7),
    r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
    r.received_at,
    CASE WHEN r.observed_at <= r.removed_at THEN 'refused'::activity_outcome ELSE 'registered' END
FROM apps app CROSS JOIN (SELECT clock.received_at, i.removed_at, CASE WHEN $8 IS NOT NULL
        THEN $9
    WHEN known.token_digest = sha256($10) AND known.token IS NOT NULL THEN known.observed_at
    ELSE clock.received_at END AS observed_at,
    $11 IS NULL
        AND EXISTS (SELECT FROM token_values held WHERE held.app_number = known.app_number
AND held.environment = known.environment AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.claimed_at AND coalesce(held.dead_at < known.claimed_at, true)) AS ends_quarantine
FROM installations i
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.app_number IS NOT NULL) AS clock
LEFT JOIN installation_tokens known ON known.app_number = $12 AND known.environment = $13::apns_environment
AND known.installation_hash = $14 AND known.kind = $15
AND known.attributes_type = $16
WHERE i.app_number = $17 AND i.environment = $18::apns_environment
AND i.installation_hash = $19) AS r
WHERE app.app_number = $20 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $21 AND held.environment = $22::apns_environment
AND held.installation_hash = $23 AND held.request_number = $24) AND true
ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type)
DO UPDATE SET token = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN CASE WHEN NOT coalesce(excluded.observed_at <= greatest(stored.deleted_at, (SELECT i.removed_at FROM installations i WHERE i.app_number = stored.app_number
AND i.environment = stored.environment AND i.installation_hash = stored.installation_hash)), false) THEN excluded.token END
ELSE stored.token END,
token_digest = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN excluded.token_digest ELSE stored.token_digest END,
observed_at = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN excluded.observed_at ELSE stored.observed_at END,
claimed_at = CASE WHEN excluded.token_digest = stored.token_digest THEN greatest(stored.claimed_at, excluded.claimed_at)
WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN excluded.claimed_at ELSE stored.claimed_at END,
previous_claimed_at = CASE WHEN excluded.token_digest = stored.token_digest THEN stored.claimed_at END,
confirmed_at = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) OR excluded.token_digest = stored.token_digest THEN greatest(stored.confirmed_at, excluded.confirmed_at)
ELSE stored.confirmed_at END,
outcome = CASE WHEN stored.token_digest IS NULL
THEN CASE WHEN coalesce(excluded.observed_at <= greatest(stored.deleted_at, (SELECT i.removed_at FROM installations i WHERE i.app_number = stored.app_number
AND i.environment = stored.environment AND i.installation_hash = stored.installation_hash)), false) THEN 'refused'::activity_outcome ELSE 'registered' END
WHEN coalesce(stored.observed_at <= greatest(stored.deleted_at, (SELECT i.removed_at FROM installations i WHERE i.app_number = stored.app_number
AND i.environment = stored.environment AND i.installation_hash = stored.installation_hash)), false)
THEN CASE WHEN coalesce(excluded.observed_at <= greatest(stored.deleted_at, (SELECT i.removed_at FROM installations i WHERE i.app_number = stored.app_number
AND i.environment = stored.environment AND i.installation_hash = stored.installation_hash)), false) THEN 'refused'::activity_outcome ELSE 'reactivated' END
WHEN excluded.token_digest = stored.token_digest THEN 'refreshed'
WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN 'rotated' ELSE 'superseded' END,
touched_at = excluded.touched_at;

-- device token, 4 of 10: $1 bytea, $2 timestamp with time zone, $3 timestamp with time zone, $4 bigint, $5 text, $6 bytea, $7 text, $8 text, $9 bigint, $10 text, $11 bytea, $12 bigint, $13 timestamp with time zone, $14 bytea
INSERT INTO installation_token_claims AS stored (app_number, environment, installation_hash, kind,
    attributes_type, token_digest, first_observed_at, last_observed_at)
SELECT r.app_number, r.environment, r.installation_hash, r.kind, r.attributes_type, sha256($1),
    coalesce($2, r.observed_at), coalesce($3, r.observed_at)
FROM installation_tokens r WHERE r.app_number = $4 AND r.environment = $5::apns_environment
AND r.installation_hash = $6 AND r.kind = $7
AND r.attributes_type = $8 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $9 AND held.environment = $10::apns_environment
AND held.installation_hash = $11 AND held.request_number = $12)
AND ($13 IS NOT NULL OR r.token_digest = sha256($14))
ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type, token_digest) DO UPDATE SET
    first_observed_at = least(stored.first_observed_at, excluded.first_observed_at),
    last_observed_at = greatest(stored.last_observed_at, excluded.last_observed_at);

-- device token, 5 of 10: $1 bigint, $2 text, $3 bytea, $4 text, $5 text, $6 bigint, $7 bytea, $8 bigint, $9 text, $10 bytea, $11 bigint, $12 text, $13 bytea, $14 bigint
WITH latest AS MATERIALIZED (
    SELECT c.token_digest, c.first_observed_at, c.last_observed_at FROM installation_token_claims c
    WHERE c.app_number = $1 AND c.environment = $2::apns_environment
AND c.installation_hash = $3 AND c.kind = $4
AND c.attributes_type = $5
    ORDER BY c.last_observed_at DESC LIMIT $6
)
UPDATE installations i SET flapped_at = seen.at
FROM (
    SELECT max(least(own.last_observed_at, other.last_observed_at)) AS at
    FROM latest own JOIN latest other ON other.token_digest <> own.token_digest
        AND other.first_observed_at < own.last_observed_at AND own.first_observed_at < other.last_observed_at
    WHERE own.token_digest = sha256($7)
) AS seen
WHERE i.app_number = $8 AND i.environment = $9::apns_environment
AND i.installation_hash = $10 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $11 AND held.environment = $12::apns_environment
AND held.installation_hash = $13 AND held.request_number = $14)
    AND seen.at > coalesce(i.flapped_at, '-infinity');

-- device token, 6 of 10: $1 bytea, $2 timestamp with time zone, $3 bigint, $4 text, $5 bytea, $6 text, $7 text, $8 bigint, $9 text, $10 bytea, $11 bigint, $12 timestamp with time zone, $13 bytea
INSERT INTO token_values AS stored (app_number, environment, token_digest, installation_kind, installation_hash,
    installation_observed_at, became_installations)
SELECT r.app_number, r.environment, sha256($1), r.kind, r.installation_hash, coalesce($2, r.observed_at), true
FROM installation_tokens r WHERE r.app_number = $3 AND r.environment = $4::apns_environment
AND r.installation_hash = $5 AND r.kind = $6
AND r.attributes_type = $7 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $8 AND held.environment = $9::apns_environment
AND held.installation_hash = $10 AND held.request_number = $11)
AND ($12 IS NOT NULL OR r.token_digest = sha256($13))
ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET installation_kind = CASE WHEN (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash, excluded.installation_kind)
> (stored.installation_observed_at, stored.installation_hash, stored.installation_kind)) THEN excluded.installation_kind ELSE stored.installation_kind END,
installation_hash = CASE WHEN (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash, excluded.installation_kind)
> (stored.installation_observed_at, stored.installation_hash, stored.installation_kind)) THEN excluded.installation_hash ELSE stored.installation_hash END,
installation_observed_at = greatest(stored.installation_observed_at, excluded.installation_observed_at),
displaced_installation_kind = CASE WHEN (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash, excluded.installation_kind)
> (stored.installation_observed_at, stored.installation_hash, stored.installation_kind)) AND (stored.installation_hash, stored.installation_kind)
<> (excluded.installation_hash, excluded.installation_kind) THEN stored.installation_kind END,
displaced_installation_hash = CASE WHEN (stored.installation_hash IS NULL
OR (excluded.installation_observed_at, excluded.installation_hash, excluded.installation_kind)
> (stored.installation_observed_at, stored.installation_hash, stored.installation_kind)) AND (stored.installation_hash, stored.installation_kind)
<> (excluded.installation_hash, excluded.installation_kind) THEN stored.installation_hash END,
became_installations = stored.installation_hash IS NULL,
touched_at = excluded.touched_at;

-- device token, 7 of 10: $1 bigint, $2 text, $3 bytea, $4 text, $5 text, $6 bigint, $7 text, $8 bytea, $9 text, $10 text, $11 bigint, $12 text, $13 bytea, $14 bigint
UPDATE installation_tokens r SET outcome = CASE WHEN r.outcome = 'refreshed' AND (
        (r.previous_claimed_at <= greatest(v.dead_at, v.quarantined_at)
            AND r.claimed_at > greatest(v.dead_at, v.quarantined_at))
        OR (r.has_one_owner AND v.displaced_installation_hash IS NOT NULL)
    ) THEN 'reactivated' ELSE r.outcome END
FROM (SELECT * FROM installation_token_verdicts its WHERE its.app_number = $1 AND its.environment = $2::apns_environment
AND its.installation_hash = $3 AND its.kind = $4
AND its.attributes_type = $5 LIMIT 1) AS v
WHERE r.app_number = $6 AND r.environment = $7::apns_environment
AND r.installation_hash = $8 AND r.kind = $9
AND r.attributes_type = $10 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $11 AND held.environment = $12::apns_environment
AND held.installation_hash = $13 AND held.request_number = $14)
RETURNING r.outcome::text, r.observed_at, r.confirmed_at, r.deleted_at, v.removed_at, v.verdict, v.owner_kind, now();

-- device token, 8 of 10: $1 bigint, $2 text, $3 bytea, $4 text, $5 text, $6 bigint, $7 text, $8 bytea, $9 bigint, $10 timestamp with time zone, $11 bytea, $12 bytea
INSERT INTO retired_tokens AS stored (app_number, environment, activity_id, token_digest, observed_at, reason)
SELECT a.app_number, a.environment, a.activity_id, a.token_digest, a.token_observed_at,
    'taken-over'::retirement_reason
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $1 AND r.environment = $2::apns_environment
AND r.installation_hash = $3 AND r.kind = $4
AND r.attributes_type = $5 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $6 AND held.environment = $7::apns_environment
AND held.installation_hash = $8 AND held.request_number = $9)
AND ($10 IS NOT NULL OR r.token_digest = sha256($11))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = r.app_number
    AND v.environment = r.environment AND v.token_digest = sha256($12) LIMIT 1) AS t CROSS JOIN LATERAL (SELECT * FROM activities claimant WHERE claimant.app_number = t.app_number
AND claimant.environment = t.environment AND claimant.activity_id = t.activity_id LIMIT 1) AS a
WHERE a.token_digest = t.token_digest AND a.ended_at IS NULL AND t.became_installations
ORDER BY 3, 4
ON CONFLICT (app_number, environment, activity_id, token_digest) DO UPDATE SET
    observed_at = greatest(stored.observed_at, excluded.observed_at), reason = excluded.reason;

-- device token, 9 of 10: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bytea, $8 text, $9 text, $10 bigint, $11 text, $12 bytea, $13 bigint, $14 bigint, $15 text, $16 bytea, $17 text, $18 text, $19 bigint, $20 text, $21 bytea, $22 bigint, $23 bigint, $24 text, $25 bytea, $26 text, $27 text, $28 bigint, $29 text, $30 bytea, $31 bigint, $32 timestamp with time zone, $33 bytea, $34 bytea, $35 bigint, $36 text, $37 bytea, $38 text, $39 text, $40 bigint, $41 text, $42 bytea, $43 bigint, $44 bigint, $45 text, $46 bytea, $47 text, $48 text, $49 bigint, $50 text, $51 bytea, $52 bigint, $53 timestamp with time zone, $54 bytea, $55 bytea, $56 bigint, $57 text, $58 bytea, $59 text, $60 text, $61 bigint, $62 text, $63 bytea, $64 bigint, $65 timestamp with time zone, $66 bytea, $67 bytea, $68 bigint
INSERT INTO events (app_number, drop_on, environment, type, who, activity_id, installation_hash, subject,
    aliases, token_fingerprint)
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4)
FROM (SELECT given.*, $4::text AS who FROM (SELECT r.outcome::text AS type, NULL::text AS activity_id, i.installation_hash, i.subject,
i.aliases, r.token_digest AS token_digest
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $5 AND r.environment = $6::apns_environment
AND r.installation_hash = $7 AND r.kind = $8
AND r.attributes_type = $9 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $10 AND held.environment = $11::apns_environment
AND held.installation_hash = $12 AND held.request_number = $13)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = r.app_number
AND its.environment = r.environment AND its.installation_hash = r.installation_hash LIMIT 1) AS i
UNION ALL
SELECT 'dropped', NULL::text AS activity_id, i.installation_hash, i.subject,
i.aliases, r.token_digest AS token_digest
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $14 AND r.environment = $15::apns_environment
AND r.installation_hash = $16 AND r.kind = $17
AND r.attributes_type = $18 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $19 AND held.environment = $20::apns_environment
AND held.installation_hash = $21 AND held.request_number = $22)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = r.app_number
AND its.environment = r.environment AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = r.app_number
    AND v.environment = r.environment AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE r.claimed_at <= t.dead_at UNION ALL SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject,
i.aliases, loser.token_digest AS token_digest
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $23 AND r.environment = $24::apns_environment
AND r.installation_hash = $25 AND r.kind = $26
AND r.attributes_type = $27 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $28 AND held.environment = $29::apns_environment
AND held.installation_hash = $30 AND held.request_number = $31)
AND ($32 IS NOT NULL OR r.token_digest = sha256($33))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = r.app_number
    AND v.environment = r.environment AND v.token_digest = sha256($34) LIMIT 1) AS t CROSS JOIN LATERAL (
    SELECT * FROM installation_tokens holder WHERE holder.app_number = t.app_number
        AND holder.environment = t.environment AND holder.installation_hash = t.displaced_installation_hash
        AND holder.kind = t.displaced_installation_kind LIMIT 1
) AS loser
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = loser.app_number
AND its.environment = loser.environment AND its.installation_hash = loser.installation_hash LIMIT 1) AS i
WHERE loser.token_digest = t.token_digest AND loser.token IS NOT NULL
UNION ALL
SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject,
i.aliases, r.token_digest AS token_digest
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $35 AND r.environment = $36::apns_environment
AND r.installation_hash = $37 AND r.kind = $38
AND r.attributes_type = $39 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $40 AND held.environment = $41::apns_environment
AND held.installation_hash = $42 AND held.request_number = $43)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = r.app_number
AND its.environment = r.environment AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = r.app_number
    AND v.environment = r.environment AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE (t.installation_hash, t.installation_kind) <> (r.installation_hash, r.kind)
UNION ALL
SELECT 'taken-over', a.activity_id, a.installation_hash, a.subject, a.aliases, a.token_digest
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $44 AND r.environment = $45::apns_environment
AND r.installation_hash = $46 AND r.kind = $47
AND r.attributes_type = $48 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $49 AND held.environment = $50::apns_environment
AND held.installation_hash = $51 AND held.request_number = $52)
AND ($53 IS NOT NULL OR r.token_digest = sha256($54))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = r.app_number
    AND v.environment = r.environment AND v.token_digest = sha256($55) LIMIT 1) AS t CROSS JOIN LATERAL (SELECT * FROM activities claimant WHERE claimant.app_number = t.app_number
AND claimant.environment = t.environment AND claimant.activity_id = t.activity_id LIMIT 1) AS a
WHERE a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now() AND t.became_installations
UNION ALL
SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject,
i.aliases, loser.token_digest AS token_digest
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $56 AND r.environment = $57::apns_environment
AND r.installation_hash = $58 AND r.kind = $59
AND r.attributes_type = $60 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $61 AND held.environment = $62::apns_environment
AND held.installation_hash = $63 AND held.request_number = $64)
AND ($65 IS NOT NULL OR r.token_digest = sha256($66))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = r.app_number
    AND v.environment = r.environment AND v.token_digest = sha256($67) LIMIT 1) AS t CROSS JOIN LATERAL (
    SELECT * FROM installation_tokens holder
    WHERE holder.app_number = t.app_number AND holder.environment = t.environment AND NOT holder.has_one_owner
        AND holder.token_digest = t.token_digest LIMIT $68
) AS loser
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = loser.app_number
AND its.environment = loser.environment AND its.installation_hash = loser.installation_hash LIMIT 1) AS i
WHERE t.became_installations AND loser.token IS NOT NULL) AS given) AS e;

-- device token, 10 of 10: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea, $6 bytea
UPDATE activities a SET token_is_doubted = true
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = (
    SELECT t.activity_id FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment
        AND t.token_digest = sha256($5) AND t.installation_hash IS NOT NULL
) AND a.token_digest = sha256($6) AND a.ended_at IS NULL AND NOT a.token_is_doubted;
