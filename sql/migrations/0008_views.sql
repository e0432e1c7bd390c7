-- The state of an activity. A function, because answers compute it for the row that the request's own statement returns, which no
-- view shows yet. Postgres inlines it.
CREATE FUNCTION activity_state(
    ended_at timestamptz, started_at timestamptz, expires_at timestamptz, last_observed_at timestamptz,
    removed_at timestamptz, full_state_at timestamptz
) RETURNS text LANGUAGE sql STABLE RETURN CASE
    WHEN ended_at IS NOT NULL THEN 'ended'
    WHEN expires_at <= now() THEN 'expired'
    -- Started before its installation logged out, it ended with that, also when it became known later.
    WHEN removed_at >= started_at THEN 'ended'
    -- Missing from its installation's full state.
    WHEN full_state_at > last_observed_at THEN 'dismissed'
    ELSE 'active'
END;

-- The one definition of why an activity's token is withheld, in the order in which reasons count; null where it is handed
-- out. Each line is a rule. Other views, lists, counts and explanations all ask here. Statements about one scope use this text with
-- the scope's id on the right of "….scope_id = ….scope_id", so that a distributed Postgres sees that it is one.
CREATE VIEW activity_verdicts AS
SELECT
    a.*, a.ctid AS place, i.removed_at, i.full_state_at, s.state, a.withheld AS value_verdict,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        -- Expired, dismissed.
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS verdict
FROM activities a
-- A subquery, so that an installation is looked up by its key, and only if an activity names one and has not ended: for a plain
-- join the planner may read the whole table, or read it for each activity while it is empty.
LEFT JOIN LATERAL (
    SELECT its.full_state_at, its.removed_at FROM installations its
    WHERE its.scope_id = a.scope_id AND its.installation_hash = a.installation_hash AND a.installation_hash IS NOT NULL
        AND a.ended_at IS NULL
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s;

-- The activities as a sender may see them.
CREATE VIEW current_activities AS SELECT * FROM activity_verdicts r WHERE r.verdict IS NULL;

-- The same definition for tokens of installations. Values and installations are looked up for each token by itself, as above.
CREATE VIEW installation_token_verdicts AS
SELECT
    r.*, r.ctid AS place, i.subject, i.aliases, i.removed_at, t.installation_kind AS owner_kind,
    t.installation_observed_at AS owned_at, t.displaced_installation_hash, t.dead_at, t.quarantined_at,
    t.quarantine_reason,
    CASE
        WHEN r.observed_at <= r.deleted_at AND r.purged_at = r.deleted_at THEN 'purged'
        WHEN r.observed_at <= i.removed_at THEN 'logged-out'
        WHEN r.token IS NULL THEN 'deleted'
        -- Kinds are kept apart.
        WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
        WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
        -- Not claimed later than APNs said it dead, than it was quarantined.
        WHEN r.claimed_at <= t.dead_at THEN 'unregistered'
        WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined'
    END AS verdict
FROM installation_tokens r
LEFT JOIN LATERAL (
    SELECT its.subject, its.aliases, its.removed_at FROM installations its
    WHERE its.scope_id = r.scope_id AND its.installation_hash = r.installation_hash LIMIT 1
) AS i ON true
LEFT JOIN LATERAL (
    SELECT * FROM token_values its
    WHERE its.scope_id = r.scope_id AND its.token_digest = r.token_digest LIMIT 1
) AS t ON true;

-- The tokens of installations as a sender may see them.
CREATE VIEW current_installation_tokens AS SELECT * FROM installation_token_verdicts r WHERE r.verdict IS NULL;

-- The rows that are current with a token value, apart from what APNs said of it: feedback acts on them. A dismissed activity may
-- come back, so its token is among them.
CREATE VIEW token_holders AS
SELECT t.scope_id, t.token_digest, h.kind, h.attributes_type, h.claimed_at, h.activity_id, h.installation_hash, h.subject,
    h.aliases
FROM token_values t CROSS JOIN LATERAL (
    SELECT
        'update'::text COLLATE "C" AS kind, ''::text COLLATE "C" AS attributes_type, a.token_claimed_at AS claimed_at,
        a.activity_id, a.installation_hash, a.subject, a.aliases
    FROM activities a
    WHERE a.scope_id = t.scope_id AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND a.ended_at IS NULL AND a.expires_at > now() AND t.installation_hash IS NULL
    UNION ALL
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM installation_token_verdicts r
    WHERE r.scope_id = t.scope_id AND r.installation_hash = t.installation_hash AND r.kind = t.installation_kind
        AND r.token_digest = t.token_digest AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
    UNION ALL
    -- Values of kinds that may repeat, unless an installation owns the value.
    SELECT r.kind, r.attributes_type, r.claimed_at, NULL::text COLLATE "C", r.installation_hash, r.subject, r.aliases
    FROM installation_token_verdicts r
    WHERE r.scope_id = t.scope_id AND NOT r.has_one_owner AND r.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND (r.verdict IN ('unregistered', 'quarantined')) IS NOT FALSE
) AS h;

-- Aliases, and those that a change took away. A function, because a statement prepares its plan only when it is called: most changes
-- take none away.
CREATE FUNCTION all_aliases(aliases jsonb, displaced_aliases jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(alias_kinds.kind, alias_kinds.alias_values) FROM (
        SELECT kinds.key AS kind, jsonb_agg(DISTINCT alias_values.value) AS alias_values
        FROM (VALUES (aliases), (displaced_aliases)) AS sets (aliases)
        CROSS JOIN LATERAL jsonb_each(sets.aliases) AS kinds
        CROSS JOIN LATERAL jsonb_array_elements(kinds.value) AS alias_values
        GROUP BY kinds.key
    ) AS alias_kinds
$$;
