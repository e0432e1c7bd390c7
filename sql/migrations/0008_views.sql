-- The installations' tokens for senders. A log-out deletes the stored tokens.
CREATE VIEW deliverable_installation_tokens AS
SELECT r.* FROM installation_tokens r WHERE r.token IS NOT NULL AND r.withheld IS NULL;

-- All tokens of installations, with the reason why senders do not get them; null if deliverable.
CREATE VIEW explained_installation_tokens AS
SELECT
    r.*, i.removed_at,
    CASE
        WHEN r.token IS NOT NULL THEN r.withheld
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        ELSE 'deleted'
    END AS reason
FROM installation_tokens r
LEFT JOIN installations i ON i.scope_id = r.scope_id AND i.installation_hash = r.installation_hash;

-- Activities for the audit: the reason, and its time.
CREATE VIEW activity_explanations AS
SELECT
    a.scope_id, a.activity_key, a.activity_id, a.ended_at, a.expiry_recorded_at,
    a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL AS is_closed,
    a.state, a.reason,
    CASE coalesce(a.reason, '')
        WHEN '' THEN a.token_observed_at
        WHEN 'ended' THEN a.ended_at
        WHEN 'logged-out' THEN a.removed_at
        WHEN 'expired' THEN a.expires_at
        WHEN 'dismissed' THEN a.full_state_at
        WHEN 'taken-over' THEN t.observed_at
        WHEN 'kind-conflict' THEN t.installation_observed_at
        WHEN 'purged' THEN t.purged_at
        WHEN 'unregistered' THEN t.dead_at
        WHEN 'quarantined' THEN t.quarantined_at
    END AS since,
    a.end_reason::text, t.quarantine_reason, substr(a.token_digest, 1, 4) AS fingerprint, a.installation_hash,
    a.attributes_type, a.started_at, a.starts_at, coalesce(a.token_observed_at, a.last_observed_at) AS observed_at,
    a.confirmed_at, a.expires_at, t.delivered_at
FROM explained_activities a
LEFT JOIN token_values t ON t.scope_id = a.scope_id AND t.token_digest = a.token_digest;

-- Tokens of installations for the audit: the reason, and its time.
CREATE VIEW installation_token_explanations AS
SELECT
    r.scope_id, r.installation_hash, r.kind, nullif(r.attributes_type, '') AS attributes_type, r.reason,
    CASE r.reason
        WHEN 'purged' THEN CASE WHEN r.token IS NULL THEN r.purged_at ELSE t.purged_at END
        WHEN 'logged-out' THEN r.removed_at
        WHEN 'deleted' THEN r.deleted_at
        WHEN 'kind-conflict' THEN t.installation_observed_at
        WHEN 'taken-over' THEN t.installation_observed_at
        WHEN 'unregistered' THEN t.dead_at
        WHEN 'quarantined' THEN t.quarantined_at
        ELSE r.observed_at
    END AS since,
    t.quarantine_reason, substr(r.token_digest, 1, 4) AS fingerprint, r.observed_at, r.confirmed_at,
    r.token IS NULL AS is_deleted
FROM explained_installation_tokens r
LEFT JOIN token_values t ON t.scope_id = r.scope_id AND t.token_digest = r.token_digest;

-- Tokens that a purge may drop: deliverable or quarantined. Each kind has its own numbers. A scheduled activity needs
-- no confirmation before its start.
CREATE VIEW purgeable_tokens AS
SELECT
    a.scope_id, 'update'::text COLLATE "C" AS kind, a.activity_key AS number, a.activity_id, a.installation_hash,
    a.attributes_type, NULL::boolean AS has_one_owner, a.token_digest, a.token_observed_at AS observed_at,
    a.confirmed_at, greatest(a.confirmed_at, a.starts_at) AS unconfirmed_since, a.expires_at,
    a.withheld IS NOT NULL AS is_quarantined
FROM activities a
WHERE a.token IS NOT NULL AND (a.withheld = 'quarantined') IS NOT FALSE
UNION ALL
SELECT
    r.scope_id, r.kind, r.token_number, NULL, r.installation_hash, nullif(r.attributes_type, ''),
    r.has_one_owner, r.token_digest, r.observed_at, r.confirmed_at,
    r.confirmed_at, NULL, r.withheld IS NOT NULL
FROM installation_tokens r
WHERE r.token IS NOT NULL AND (r.withheld = 'quarantined') IS NOT FALSE;
