-- device token, 1: $1 bigint, $2 bytea, $3 bigint, $4 timestamp with time zone, $5 text, $6 boolean, $7 timestamp with time zone, $8 bigint, $9 timestamp with time zone, $10 bigint, $11 text[], $12 timestamp with time zone
INSERT INTO installations AS stored (
    scope_id, installation_hash, request_number, request_observed_at, subject, subject_observed_at
)
SELECT $1, $2, $3, $4, $5,
    CASE WHEN $6 THEN coalesce($7, clock_timestamp()) END
FROM apps app
WHERE app.app_id = $8 AND coalesce($9 <= now() + interval '5 minutes', true)
    AND NOT (EXISTS (
    SELECT FROM erasures erased
    WHERE erased.scope_id = $10 AND erased.erased_digest = ANY(ARRAY(SELECT sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')) FROM unnest($11) AS named (name)))
        AND erased.erased_at >= coalesce($12, now())
)) IS TRUE
ON CONFLICT (scope_id, installation_hash) DO UPDATE SET
    touched_at = excluded.touched_at, request_number = excluded.request_number,
    request_observed_at = excluded.request_observed_at,
    subject = coalesce(stored.subject,
    CASE WHEN coalesce(excluded.request_observed_at > stored.removed_at, true) THEN excluded.subject END) WHERE coalesce(stored.subject = excluded.subject, true)
RETURNING stored.xmax = 0;

-- device token, 2: $1 bigint, $2 bigint, $3 bytea
SELECT FROM activities a
WHERE a.scope_id = $1 AND a.activity_id = (
    SELECT t.activity_id FROM token_values t
    WHERE t.scope_id = $2
        AND t.token_digest = sha256($3)
)
FOR UPDATE;

-- device token, 3: $1 bigint, $2 bytea, $3 text, $4 text, $5 boolean, $6 bytea, $7 bytea, $8 timestamp with time zone, $9 timestamp with time zone, $10 bytea, $11 timestamp with time zone, $12 bigint, $13 bigint, $14 bytea, $15 text, $16 text, $17 bigint, $18 bytea, $19 bigint, $20 bigint, $21 bytea, $22 bigint
INSERT INTO installation_tokens AS stored (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
)
WITH given (
    scope_id, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
) AS MATERIALIZED (
SELECT $1, $2, $3, $4, $5,
    CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN $6 END, sha256($7),
    r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
    r.received_at,
    CASE WHEN r.observed_at <= r.removed_at THEN 'refused'::activity_outcome ELSE 'registered' END, r.removed_at
FROM apps app CROSS JOIN (SELECT clock.received_at, i.removed_at, CASE WHEN $8 IS NOT NULL
        THEN $9
    WHEN known.token_digest = sha256($10) AND known.token IS NOT NULL THEN known.observed_at
    ELSE clock.received_at END AS observed_at,
    $11 IS NULL
        AND EXISTS (SELECT FROM token_values held WHERE held.scope_id = $12
AND held.token_digest = known.token_digest
AND held.quarantined_at >= known.claimed_at AND coalesce(held.dead_at < known.claimed_at, true)) AS ends_quarantine
FROM installations i
CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.scope_id IS NOT NULL) AS clock
LEFT JOIN installation_tokens known ON known.scope_id = $13 AND known.installation_hash = $14 AND known.kind = $15
AND known.attributes_type = $16
WHERE i.scope_id = $17 AND i.installation_hash = $18) AS r
WHERE app.app_id = $19 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $20 AND held.installation_hash = $21 AND held.request_number = $22) AND true
)
SELECT * FROM given
ON CONFLICT (scope_id, installation_hash, kind, attributes_type)
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

-- device token, 4: $1 bytea, $2 timestamp with time zone, $3 bigint, $4 bytea, $5 text, $6 text, $7 bigint, $8 bytea, $9 bigint, $10 timestamp with time zone, $11 bytea
INSERT INTO token_values AS stored (scope_id, token_digest, installation_kind, installation_hash,
    installation_observed_at, became_installations)
SELECT r.scope_id, sha256($1), r.kind, r.installation_hash, coalesce($2, r.observed_at), true
FROM installation_tokens r WHERE r.scope_id = $3 AND r.installation_hash = $4 AND r.kind = $5
AND r.attributes_type = $6 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $7 AND held.installation_hash = $8 AND held.request_number = $9)
AND ($10 IS NOT NULL OR r.token_digest = sha256($11))
ON CONFLICT (scope_id, token_digest) DO UPDATE SET installation_kind = CASE WHEN (stored.installation_hash IS NULL
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

-- device token, 5: $1 bigint, $2 bigint, $3 bigint, $4 bytea, $5 text, $6 text, $7 bigint, $8 bytea, $9 text, $10 text, $11 bigint, $12 bytea, $13 bigint
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
    WHERE its.scope_id = $1 AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = $2 AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true) its WHERE its.scope_id = $3 AND its.installation_hash = $4 AND its.kind = $5
AND its.attributes_type = $6 LIMIT 1) AS v
WHERE r.scope_id = $7 AND r.installation_hash = $8 AND r.kind = $9
AND r.attributes_type = $10 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $11 AND held.installation_hash = $12 AND held.request_number = $13)
RETURNING r.outcome, r.observed_at, r.confirmed_at, r.deleted_at, v.removed_at, v.verdict, v.owner_kind, r.touched_at;

-- device token, 6: $1 bigint, $2 interval, $3 text, $4 bigint, $5 bytea, $6 text, $7 text, $8 bigint, $9 bytea, $10 bigint, $11 bigint, $12 bigint, $13 bytea, $14 text, $15 text, $16 bigint, $17 bytea, $18 bigint, $19 bigint, $20 bigint, $21 bigint, $22 bytea, $23 text, $24 text, $25 bigint, $26 bytea, $27 bigint, $28 timestamp with time zone, $29 bytea, $30 bigint, $31 bytea, $32 bigint, $33 bigint, $34 bigint, $35 bytea, $36 text, $37 text, $38 bigint, $39 bytea, $40 bigint, $41 bigint, $42 bigint, $43 bigint, $44 bytea, $45 text, $46 text, $47 bigint, $48 bytea, $49 bigint, $50 timestamp with time zone, $51 bytea, $52 bigint, $53 bytea, $54 bigint, $55 bigint, $56 bytea, $57 text, $58 text, $59 bigint, $60 bytea, $61 bigint, $62 timestamp with time zone, $63 bytea, $64 bigint, $65 bytea, $66 bigint, $67 bigint, $68 bigint
INSERT INTO events (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
)
WITH given (
    scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
attributes_type
) AS MATERIALIZED (
SELECT $1, (now() + $2)::date + 1, e.type, e.who, e.activity_id, e.installation_hash, e.subject,
    e.aliases, substr(e.token_digest, 1, 4), e.token_kind, e.attributes_type
FROM (SELECT given.*, $3::text AS who FROM (SELECT r.outcome::text AS type, NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $4 AND r.installation_hash = $5 AND r.kind = $6
AND r.attributes_type = $7 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $8 AND held.installation_hash = $9 AND held.request_number = $10)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $11
AND its.installation_hash = r.installation_hash LIMIT 1) AS i
UNION ALL
SELECT 'dropped', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $12 AND r.installation_hash = $13 AND r.kind = $14
AND r.attributes_type = $15 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $16 AND held.installation_hash = $17 AND held.request_number = $18)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $19
AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.scope_id = $20
    AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE r.claimed_at <= t.dead_at UNION ALL SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
loser.token_digest, loser.kind AS token_kind, nullif(loser.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $21 AND r.installation_hash = $22 AND r.kind = $23
AND r.attributes_type = $24 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $25 AND held.installation_hash = $26 AND held.request_number = $27)
AND ($28 IS NOT NULL OR r.token_digest = sha256($29))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.scope_id = $30
    AND v.token_digest = sha256($31) LIMIT 1) AS t CROSS JOIN LATERAL (
    SELECT * FROM installation_tokens holder WHERE holder.scope_id = $32
        AND holder.installation_hash = t.displaced_installation_hash AND holder.kind = t.displaced_installation_kind LIMIT 1
) AS loser
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $33
AND its.installation_hash = loser.installation_hash LIMIT 1) AS i
WHERE loser.token_digest = t.token_digest AND loser.token IS NOT NULL
UNION ALL
SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
r.token_digest, r.kind AS token_kind, nullif(r.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $34 AND r.installation_hash = $35 AND r.kind = $36
AND r.attributes_type = $37 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $38 AND held.installation_hash = $39 AND held.request_number = $40)
    AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $41
AND its.installation_hash = r.installation_hash LIMIT 1) AS i CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.scope_id = $42
    AND v.token_digest = r.token_digest LIMIT 1) AS t
WHERE (t.installation_hash, t.installation_kind) <> (r.installation_hash, r.kind)
UNION ALL
SELECT 'taken-over', a.activity_id, a.installation_hash, a.subject, a.aliases AS aliases, a.token_digest,
NULL::text AS token_kind, NULL::text AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $43 AND r.installation_hash = $44 AND r.kind = $45
AND r.attributes_type = $46 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $47 AND held.installation_hash = $48 AND held.request_number = $49)
AND ($50 IS NOT NULL OR r.token_digest = sha256($51))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.scope_id = $52
    AND v.token_digest = sha256($53) LIMIT 1) AS t CROSS JOIN LATERAL (SELECT * FROM activities claimant WHERE claimant.scope_id = $54
AND claimant.activity_id = t.activity_id LIMIT 1) AS a
WHERE a.token_digest = t.token_digest AND a.ended_at IS NULL AND a.expires_at > now() AND t.became_installations
UNION ALL
SELECT 'taken-over', NULL::text AS activity_id, i.installation_hash, i.subject, i.aliases AS aliases,
loser.token_digest, loser.kind AS token_kind, nullif(loser.attributes_type, '') AS attributes_type
FROM (SELECT * FROM installation_tokens r WHERE r.scope_id = $55 AND r.installation_hash = $56 AND r.kind = $57
AND r.attributes_type = $58 AND EXISTS (SELECT FROM installations held WHERE held.scope_id = $59 AND held.installation_hash = $60 AND held.request_number = $61)
AND ($62 IS NOT NULL OR r.token_digest = sha256($63))) AS r CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE v.scope_id = $64
    AND v.token_digest = sha256($65) LIMIT 1) AS t CROSS JOIN LATERAL (
    SELECT * FROM installation_tokens holder
    WHERE holder.scope_id = $66 AND NOT holder.has_one_owner
        AND holder.token_digest = t.token_digest LIMIT $67
) AS loser
CROSS JOIN LATERAL (SELECT * FROM installations its WHERE its.scope_id = $68
AND its.installation_hash = loser.installation_hash LIMIT 1) AS i
WHERE t.became_installations AND loser.token IS NOT NULL) AS given) AS e
)
SELECT * FROM given;

-- device token, 7: $1 bigint, $2 bigint, $3 bytea, $4 bytea
UPDATE activities a SET withheld = 'kind-conflict'
WHERE a.scope_id = $1 AND a.activity_id = (
    SELECT t.activity_id FROM token_values t
    WHERE t.scope_id = $2
        AND t.token_digest = sha256($3) AND t.installation_hash IS NOT NULL
) AND a.token_digest = sha256($4) AND a.ended_at IS NULL;
