-- Reports of APNs's responses, burst guards, and releases from quarantine. Units of work find the values, lock the
-- activities that own them and then the values, decide in Swift (RegistryRules), and write.

-- name: feedback.lock-guards
-- Serializes transactions that may quarantine or release. Always writes (R1). Index: quarantine_guards_pkey.
INSERT INTO quarantine_guards AS stored (scope_id, kind)
SELECT :scope, kinds.kind FROM unnest(:kinds::text[]) AS kinds (kind) ORDER BY kinds.kind
ON CONFLICT (scope_id, kind) DO UPDATE SET reported_at = stored.reported_at;

-- name: feedback.read-guards
-- Reads the guards and the quarantines in their window. If :suspects more quarantines may exceed the limit, also reads
-- each kind's current tokens. Requires the lock. Indexes: quarantine_guards_pkey, token_values_quarantined,
-- activities_running, installation_tokens_of_number.
SELECT g.kind, g.tripped_at, g.reported_at, quarantined.recent,
    CASE WHEN quarantined.recent + :suspects <= 3 THEN 0
        WHEN g.kind = 'update' THEN (
            SELECT count(*) FROM (
                SELECT FROM activities a
                WHERE a.scope_id = :scope AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL
                    AND a.expires_at > now() AND a.token IS NOT NULL
                LIMIT :most_current
            ) AS tokens
        )
        ELSE (
            SELECT count(*) FROM (
                SELECT FROM installation_tokens r
                WHERE r.scope_id = :scope AND r.kind = g.kind AND r.token_number > 0 AND r.token IS NOT NULL
                LIMIT :most_current
            ) AS tokens
        )
    END AS current
FROM quarantine_guards g
CROSS JOIN LATERAL (
    SELECT count(*) AS recent
    FROM token_values v
    WHERE v.scope_id = :scope AND v.quarantined_kind = g.kind AND v.quarantined_at > now() - :window::interval
) AS quarantined
WHERE g.scope_id = :scope
ORDER BY g.kind;

-- name: feedback.update-guards
-- Index: quarantine_guards_pkey.
UPDATE quarantine_guards g
SET tripped_at = n.tripped_at, reported_at = n.reported_at
FROM unnest(:kinds::text[], :tripped_at::timestamptz[], :reported_at::timestamptz[])
    AS n (kind, tripped_at, reported_at)
WHERE g.scope_id = :scope AND g.kind = n.kind;

-- name: feedback.list-guards
-- Lists an app's active guards. Index: quarantine_guards_pkey.
SELECT s.environment::text, g.kind, g.tripped_at
FROM scopes s
JOIN quarantine_guards g ON g.scope_id = s.scope_id
WHERE s.app_id = :app AND g.tripped_at IS NOT NULL AND g.reported_at > now() - :window::interval
ORDER BY s.environment, g.kind;

-- name: feedback.find-values
-- Finds values by digest. Index: token_values_pkey.
SELECT v.ctid AS row_position, v.*
FROM token_values v
WHERE v.scope_id = :scope AND v.token_digest = ANY(:digests);

-- name: feedback.find-recent
-- Finds the values of some kinds quarantined in the burst guard's window. Index: token_values_quarantined.
SELECT v.ctid AS row_position, v.*
FROM token_values v
WHERE v.scope_id = :scope AND v.quarantined_kind = ANY(:kinds) AND v.quarantined_at > now() - :window::interval;

-- name: feedback.find-quarantined-page
-- Finds a page of the values quarantined up to a time, oldest first. Index: token_values_quarantined.
SELECT found.*
FROM unnest(:kinds::text[]) AS kinds (kind)
CROSS JOIN LATERAL (
    SELECT v.ctid AS row_position, v.*
    FROM token_values v
    WHERE v.scope_id = :scope AND v.quarantined_kind = kinds.kind AND v.quarantined_at <= :last
    ORDER BY v.quarantined_at
    LIMIT :limit
) AS found
LIMIT :limit;

-- name: feedback.read-last-quarantine
-- The last quarantine's time, or null. Read from rows, because each Citus node has its own clock.
-- Index: token_values_quarantined.
SELECT max(latest.quarantined_at) AS quarantined_at
FROM unnest(:kinds::text[]) AS kinds (kind)
CROSS JOIN LATERAL (
    SELECT v.quarantined_at
    FROM token_values v
    WHERE v.scope_id = :scope AND v.quarantined_kind = kinds.kind AND v.quarantined_at IS NOT NULL
    ORDER BY v.quarantined_at DESC
    LIMIT 1
) AS latest;

-- name: feedback.find-value-of-activity
-- Finds the quarantined value of an activity's token; nulls if not quarantined. Indexes: activities_pkey,
-- token_values_pkey.
SELECT v.ctid AS row_position, v.*
FROM activities a
LEFT JOIN token_values v
    ON v.scope_id = :scope AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
    AND v.activity_id = a.activity_id
WHERE a.scope_id = :scope AND a.activity_id = :id;

-- name: feedback.find-value-of-slot
-- Finds the quarantined value of an installation's token; nulls if not quarantined or owned by another installation.
-- Indexes: installation_tokens_pkey, token_values_pkey.
SELECT v.ctid AS row_position, v.*
FROM installation_tokens r
LEFT JOIN token_values v
    ON v.scope_id = :scope AND v.token_digest = r.token_digest AND v.quarantined_at IS NOT NULL
    AND (NOT r.has_one_owner OR v.installation_hash = r.installation_hash)
WHERE r.scope_id = :scope AND r.installation_hash = :installation AND r.kind = :kind AND r.attributes_type = :type
    AND r.token IS NOT NULL;

-- name: feedback.read-owners
-- Reads the owners of delivered values. No lock, because deliveries do not change activities. Index: activities_pkey.
SELECT a.started_at, a.expires_at, a.activity_id, a.ended_at, a.end_reason, a.token, a.token_digest,
    a.token_observed_at, a.token_claimed_at
FROM activities a
WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids);

-- name: feedback.update-withholding
UPDATE activities a
SET withheld = n.withheld, revision = n.revision
FROM unnest(:rows::activity_withholding_write[]) AS n
WHERE a.ctid = n.row_position AND a.scope_id = :scope::bigint::numeric;

-- name: feedback.insert-values
INSERT INTO token_values (scope_id, token_digest, dead_at)
SELECT :scope, n.token_digest, n.dead_at
FROM unnest(:rows::token_report_write[]) AS n;

-- name: feedback.update-values
UPDATE token_values v
SET dead_at = n.dead_at, quarantined_at = n.quarantined_at, quarantined_kind = n.quarantined_kind,
    quarantine_reason = n.quarantine_reason, delivered_at = coalesce(n.delivered_at, v.delivered_at),
    touched_at = CASE WHEN v.activity_id IS NULL AND n.delivered_at IS NULL THEN :now ELSE v.touched_at END
FROM unnest(:rows::token_report_write[]) AS n
WHERE v.ctid = n.row_position AND v.scope_id = :scope::bigint::numeric;
