-- device token, 1: $1 text, $2 bytea, $3 bigint, $4 timestamp with time zone, $5 text, $6 boolean, $7 timestamp with time zone, $8 bigint, $9 timestamp with time zone, $10 bigint, $11 text, $12 text[], $13 timestamp with time zone
INSERT INTO installations AS stored (
    app_number, environment, installation_hash, request_number, request_observed_at, subject, subject_observed_at
)
SELECT app.app_number, $1::apns_environment, $2, $3, $4,
    $5,
    CASE WHEN $6 THEN coalesce($7, clock_timestamp()) END
FROM apps app
WHERE app.app_number = $8 AND coalesce($9 <= now() + interval '5 minutes', true)
    AND NOT (EXISTS (
    SELECT FROM erasures erased
    WHERE erased.app_number = $10 AND erased.environment = $11::apns_environment
        AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($12) AS named (name)))
        AND (erased.erased_digest = NULL OR erased.erased_at >= coalesce($13, now()))
)) IS TRUE
ON CONFLICT (app_number, environment, installation_hash) DO UPDATE SET
    touched_at = excluded.touched_at, request_number = excluded.request_number,
    request_observed_at = excluded.request_observed_at,
    subject = coalesce(stored.subject,
    CASE WHEN coalesce(excluded.request_observed_at > stored.removed_at, true) THEN excluded.subject END) WHERE coalesce(stored.subject = excluded.subject, true)
RETURNING stored.xmax = 0;

-- device token, 2: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea
SELECT FROM activities a
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = (
    SELECT t.activity_id FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment
        AND t.token_digest = sha256($5)
)
FOR UPDATE;

-- device token, 3: $1 text, $2 bytea, $3 text, $4 text, $5 boolean, $6 bytea, $7 bytea, $8 timestamp with time zone, $9 timestamp with time zone, $10 bytea, $11 timestamp with time zone, $12 bigint, $13 text, $14 bigint, $15 text, $16 bytea, $17 text, $18 text, $19 bigint, $20 text, $21 bytea, $22 bigint, $23 bigint, $24 text, $25 bytea, $26 bigint
INSERT INTO installation_tokens AS stored (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
)
WITH given (
    app_number, environment, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
) AS MATERIALIZED (
SELECT app.app_number, $1::apns_environment, $2, $3,
    $4, $5,
    CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN $6 END, sha256($7),
    r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
    r.received_at,
    CASE WHEN r.observed_at <= r.removed_at THEN 'refused'::activity_outcome ELSE 'registered' END, r.removed_at
FROM apps app CROSS JOIN (SELECT clock.received_at, i.removed_at, CASE WHEN $8 IS NOT NULL
        THEN $9
    WHEN known.token_digest = sha256($10) AND known.token IS NOT NULL THEN known.observed_at
    ELSE clock.received_at END AS observed_at,
    $11 IS NULL
        AND EXISTS (SELECT FROM token_values held WHERE held.app_number = $12 AND held.environment = $13::apns_environment
AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.claimed_at AND coalesce(held.dead_at < known.claimed_at, true)) AS ends_quarantine
FROM installations i
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.app_number IS NOT NULL) AS clock
LEFT JOIN installation_tokens known ON known.app_number = $14 AND known.environment = $15::apns_environment
AND known.installation_hash = $16 AND known.kind = $17
AND known.attributes_type = $18
WHERE i.app_number = $19 AND i.environment = $20::apns_environment
AND i.installation_hash = $21) AS r
WHERE app.app_number = $22 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $23 AND held.environment = $24::apns_environment
AND held.installation_hash = $25 AND held.request_number = $26) AND true
)
SELECT * FROM given
ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type)
DO UPDATE SET token = CASE WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN CASE WHEN NOT coalesce(excluded.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false) THEN excluded.token END
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
THEN CASE WHEN coalesce(excluded.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false) THEN 'refused'::activity_outcome ELSE 'registered' END
WHEN coalesce(stored.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false)
THEN CASE WHEN coalesce(excluded.observed_at <= greatest(stored.deleted_at, excluded.installation_removed_at), false) THEN 'refused'::activity_outcome ELSE 'reactivated' END
WHEN excluded.token_digest = stored.token_digest THEN 'refreshed'
WHEN (stored.token_digest IS NULL
OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest)) THEN 'rotated' ELSE 'superseded' END,
touched_at = excluded.touched_at, installation_removed_at = excluded.installation_removed_at;

-- device token, 4: $1 bytea, $2 timestamp with time zone, $3 bigint, $4 text, $5 bytea, $6 text, $7 text, $8 bigint, $9 text, $10 bytea, $11 bigint, $12 timestamp with time zone, $13 bytea
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

-- device token, 5: $1 bigint, $2 bigint, $3 bigint, $4 text, $5 bytea, $6 text, $7 text, $8 bigint, $9 text, $10 bytea, $11 text, $12 text, $13 bigint, $14 text, $15 bytea, $16 bigint
UPDATE installation_tokens r SET outcome = CASE WHEN r.outcome = 'refreshed' AND (
        (r.previous_claimed_at <= greatest(v.dead_at, v.quarantined_at)
            AND r.claimed_at > greatest(v.dead_at, v.quarantined_at))
        OR (r.has_one_owner AND v.displaced_installation_hash IS NOT NULL)
    ) THEN 'reactivated' ELSE r.outcome END
FROM (SELECT * FROM (SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
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
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.app_number = $1 AND its.environment = r.environment AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.app_number = $2 AND its.environment = r.environment AND its.token_digest = r.token_digest
    LIMIT 1
) AS t ON true) its WHERE its.app_number = $3 AND its.environment = $4::apns_environment
AND its.installation_hash = $5 AND its.kind = $6
AND its.attributes_type = $7 LIMIT 1) AS v
WHERE r.app_number = $8 AND r.environment = $9::apns_environment
AND r.installation_hash = $10 AND r.kind = $11
AND r.attributes_type = $12 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $13 AND held.environment = $14::apns_environment
AND held.installation_hash = $15 AND held.request_number = $16)
RETURNING r.outcome, r.observed_at, r.confirmed_at, r.deleted_at, v.removed_at, v.verdict, v.owner_kind, r.touched_at;

-- device token, 6: $1 bigint, $2 interval, $3 text, $4 text, $5 bigint, $6 text, $7 bytea, $8 text, $9 text, $10 bigint, $11 text, $12 bytea, $13 bigint, $14 bigint, $15 text, $16 bigint, $17 text, $18 bytea, $19 text, $20 text, $21 bigint, $22 text, $23 bytea, $24 bigint, $25 bigint, $26 text, $27 bigint, $28 text, $29 bigint, $30 text, $31 bytea, $32 text, $33 text, $34 bigint, $35 text, $36 bytea, $37 bigint, $38 timestamp with time zone, $39 bytea, $40 bigint, $41 text, $42 bytea, $43 bigint, $44 text, $45 bigint, $46 text, $47 bigint, $48 text, $49 bytea, $50 text, $51 text, $52 bigint, $53 text, $54 bytea, $55 bigint, $56 bigint, $57 text, $58 bigint, $59 text, $60 bigint, $61 text, $62 bytea, $63 text, $64 text, $65 bigint, $66 text, $67 bytea, $68 bigint, $69 timestamp with time zone, $70 bytea, $71 bigint, $72 text, $73 bytea, $74 bigint, $75 text, $76 bigint, $77 text, $78 bytea, $79 text, $80 text, $81 bigint, $82 text, $83 bytea, $84 bigint, $85 timestamp with time zone, $86 bytea, $87 bigint, $88 text, $89 bytea, $90 bigint, $91 text, $92 bigint, $93 bigint, $94 text
INSERT INTO events (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
)
WITH given (
    app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint,
token_kind, attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, $3::apns_environment,
    e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4),
    e.token_kind, e.attributes_type
FROM (SELECT given.*, $4::text AS who FROM (SELECT r.outcome::text AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $5 AND r.environment = $6::apns_environment
AND r.installation_hash = $7 AND r.kind = $8
AND r.attributes_type = $9 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $10 AND held.environment = $11::apns_environment
AND held.installation_hash = $12 AND held.request_number = $13)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $14 AND its.environment = $15::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
UNION ALL
SELECT 'dropped', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $16 AND r.environment = $17::apns_environment
AND r.installation_hash = $18 AND r.kind = $19
AND r.attributes_type = $20 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $21 AND held.environment = $22::apns_environment
AND held.installation_hash = $23 AND held.request_number = $24)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $25 AND its.environment = $26::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = $27 AND v.environment = $28::apns_environment
    AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE r.claimed_at <= t.dead_at UNION ALL SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
loser.token_digest, loser.kind AS token_kind, nullif(loser.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $29 AND r.environment = $30::apns_environment
AND r.installation_hash = $31 AND r.kind = $32
AND r.attributes_type = $33 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $34 AND held.environment = $35::apns_environment
AND held.installation_hash = $36 AND held.request_number = $37)
AND ($38 IS NOT NULL OR r.token_digest = sha256($39))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = $40 AND v.environment = $41::apns_environment
    AND v.token_digest = sha256($42) LIMIT 1) AS t CROSS JOIN LATERAL (
    SELECT * FROM installation_tokens holder WHERE holder.app_number = $43 AND holder.environment = $44::apns_environment
        AND holder.installation_hash = t.displaced_installation_hash AND holder.kind = t.displaced_installation_kind LIMIT 1
) AS loser
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $45 AND its.environment = $46::apns_environment
AND its.installation_hash = loser.installation_hash LIMIT 1) AS i
WHERE loser.token_digest = t.token_digest AND loser.token IS NOT NULL
UNION ALL
SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $47 AND r.environment = $48::apns_environment
AND r.installation_hash = $49 AND r.kind = $50
AND r.attributes_type = $51 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $52 AND held.environment = $53::apns_environment
AND held.installation_hash = $54 AND held.request_number = $55)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $56 AND its.environment = $57::apns_environment
AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = $58 AND v.environment = $59::apns_environment
    AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE (t.installation_hash, t.installation_kind) <> (r.installation_hash, r.kind)
UNION ALL
SELECT 'taken-over', a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $60 AND r.environment = $61::apns_environment
AND r.installation_hash = $62 AND r.kind = $63
AND r.attributes_type = $64 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $65 AND held.environment = $66::apns_environment
AND held.installation_hash = $67 AND held.request_number = $68)
AND ($69 IS NOT NULL OR r.token_digest = sha256($70))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = $71 AND v.environment = $72::apns_environment
    AND v.token_digest = sha256($73) LIMIT 1) AS t CROSS JOIN LATERAL (SELECT * FROM activities claimant WHERE claimant.app_number = $74 AND claimant.environment = $75::apns_environment
AND claimant.activity_id = t.activity_id LIMIT 1) AS a
WHERE a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now() AND t.became_installations
UNION ALL
SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
loser.token_digest, loser.kind AS token_kind, nullif(loser.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.app_number = $76 AND r.environment = $77::apns_environment
AND r.installation_hash = $78 AND r.kind = $79
AND r.attributes_type = $80 AND EXISTS (SELECT FROM installations held WHERE held.app_number = $81 AND held.environment = $82::apns_environment
AND held.installation_hash = $83 AND held.request_number = $84)
AND ($85 IS NOT NULL OR r.token_digest = sha256($86))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.app_number = $87 AND v.environment = $88::apns_environment
    AND v.token_digest = sha256($89) LIMIT 1) AS t CROSS JOIN LATERAL (
    SELECT * FROM installation_tokens holder
    WHERE holder.app_number = $90 AND holder.environment = $91::apns_environment AND NOT holder.has_one_owner
        AND holder.token_digest = t.token_digest LIMIT $92
) AS loser
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.app_number = $93 AND its.environment = $94::apns_environment
AND its.installation_hash = loser.installation_hash LIMIT 1) AS i
WHERE t.became_installations AND loser.token IS NOT NULL) AS given) AS e
)
SELECT * FROM given;

-- device token, 7: $1 bigint, $2 text, $3 bigint, $4 text, $5 bytea, $6 bytea
UPDATE activities a SET token_is_doubted = true
WHERE a.app_number = $1 AND a.environment = $2::apns_environment AND a.activity_id = (
    SELECT t.activity_id FROM token_values t
    WHERE t.app_number = $3 AND t.environment = $4::apns_environment
        AND t.token_digest = sha256($5) AND t.installation_hash IS NOT NULL
) AND a.token_digest = sha256($6) AND a.ended_at IS NULL AND NOT a.token_is_doubted;
