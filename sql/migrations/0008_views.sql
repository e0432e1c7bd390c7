-- The state of an activity. Postgres inlines it.
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

-- The views look each installation up (LIMIT 1): by a plan from a time when the table was small, a join would read all
-- installations of the scope.

-- The activities with a token that senders get. A full state and a log-out write no activities, so their times are compared here.
CREATE VIEW deliverable_activities AS
SELECT a.*
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at
    FROM installations its
    WHERE its.scope_id = a.scope_id AND its.installation_hash = a.installation_hash
    LIMIT 1
) AS i ON true
WHERE a.ended_at IS NULL AND a.expires_at > now() AND a.token IS NOT NULL AND a.withheld IS NULL
    AND (i.removed_at >= a.started_at) IS NOT TRUE
    AND (i.full_state_at > a.last_observed_at) IS NOT TRUE;

-- The tokens of installations that senders get. A log-out deletes the tokens that were there.
CREATE VIEW deliverable_installation_tokens AS
SELECT r.* FROM installation_tokens r WHERE r.token IS NOT NULL AND r.withheld IS NULL;

-- All activities with their state, and the first reason why senders do not get the token; null for deliverable ones.
CREATE VIEW explained_activities AS
SELECT
    a.*, i.removed_at, i.full_state_at, s.state,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN i.removed_at >= a.started_at THEN 'logged-out'
        -- Expired, dismissed.
        WHEN s.state <> 'active' THEN s.state
        WHEN a.token IS NULL THEN 'no-token'
        ELSE a.withheld
    END AS reason
FROM activities a
LEFT JOIN LATERAL (
    SELECT its.removed_at, its.full_state_at
    FROM installations its
    WHERE its.scope_id = a.scope_id AND its.installation_hash = a.installation_hash
    LIMIT 1
) AS i ON true
CROSS JOIN LATERAL (
    SELECT activity_state(
        a.ended_at, a.started_at, a.expires_at, a.last_observed_at, i.removed_at, i.full_state_at
    ) AS state
) AS s;

-- The same for the tokens of installations.
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
LEFT JOIN LATERAL (
    SELECT its.removed_at
    FROM installations its
    WHERE its.scope_id = r.scope_id AND its.installation_hash = r.installation_hash
    LIMIT 1
) AS i ON true;
