-- Searches and lists of the console and auditors.

-- name: audit.find-by-id
-- Finds an activity. Index: activities_pkey.
SELECT a.*
FROM activity_explanations a
WHERE a.scope_id = :scope AND a.activity_id = :id;

-- name: audit.find-by-alias
-- Finds activities by alias value, of one kind or all kinds. Indexes: activity_aliases_pkey, activities_of_key.
SELECT a.*
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT its.*
    FROM activity_explanations its
    WHERE its.scope_id = :scope AND its.activity_key = al.activity_key AND its.activity_key > 0
    LIMIT 1
) AS a
WHERE al.scope_id = :scope AND al.value = :value AND (:kind::text IS NULL OR al.kind = :kind)
LIMIT :limit;

-- name: audit.find-by-fingerprint
-- Finds the activities that own token values in a range of digests. Indexes: token_values_pkey, activities_pkey.
SELECT a.*
FROM token_values v
CROSS JOIN LATERAL (
    SELECT its.*
    FROM activity_explanations its
    WHERE its.scope_id = :scope AND its.activity_id = v.activity_id
    LIMIT 1
) AS a
WHERE v.scope_id = :scope AND v.token_digest BETWEEN substr(:first::bytea, 1, 15) AND :last
LIMIT :limit;

-- name: audit.find-by-installation
-- Finds activities without an end, of installations in a range of hashes. Index: activities_of_installation.
SELECT a.*
FROM activity_explanations a
WHERE a.scope_id = :scope AND a.ended_at IS NULL AND a.installation_hash BETWEEN :first AND :last
LIMIT :limit;

-- name: audit.find-running
-- Lists the latest activities that are neither ended nor expired. Index: activities_running. Reads many rows: a page.
SELECT a.*
FROM activity_explanations a
WHERE a.scope_id = :scope AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at > now()
ORDER BY a.expires_at DESC
LIMIT :limit;

-- name: audit.find-closed
-- Lists the latest ended or expired activities. Index: activities_over. Reads many rows.
SELECT a.*
FROM activity_explanations a
WHERE a.scope_id = :scope AND a.is_closed
ORDER BY a.expires_at DESC
LIMIT :limit;

-- name: audit.find-installations
-- Finds installations with a hash, or a token's digest, in a range. With UNION, Postgres 17 and later read each part in
-- the order of hashes, which reads all tokens. Indexes: installations_in_order, installation_tokens_of_value,
-- token_values_pkey.
SELECT DISTINCT f.installation_hash
FROM (
    (
        SELECT i.installation_hash
        FROM installations i
        WHERE i.scope_id = :scope AND i.installation_hash > '' AND i.installation_hash BETWEEN :first AND :last
        LIMIT :limit
    )
    UNION ALL
    (
        SELECT r.installation_hash
        FROM installation_tokens r
        WHERE r.scope_id = :scope AND NOT r.has_one_owner
            AND r.token_digest BETWEEN substr(:first::bytea, 1, 15) AND :last
        LIMIT :limit
    )
    UNION ALL
    (
        SELECT v.installation_hash
        FROM token_values v
        WHERE v.scope_id = :scope AND v.installation_hash IS NOT NULL
            AND v.token_digest BETWEEN substr(:first::bytea, 1, 15) AND :last
        LIMIT :limit
    )
) AS f
LIMIT :limit;

-- name: audit.find-installations-of-alias
-- Finds the installations that have an alias. Index: installation_aliases_pkey.
SELECT al.installation_hash
FROM installation_aliases al
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value
LIMIT :limit;

-- name: audit.read-activity
-- Reads the facts about an activity that lists omit. Indexes: activities_pkey, token_values_pkey.
SELECT a.*, t.dead_at
FROM explained_activities a
LEFT JOIN token_values t ON t.scope_id = a.scope_id AND t.token_digest = a.token_digest
WHERE a.scope_id = :scope AND a.activity_id = :id;

-- name: audit.read-former-tokens
-- Lists an activity's former tokens, latest first: replaced tokens, and the last one if withheld for good. Omits a
-- token that the activity has again. Indexes: activities_pkey, token_values_of_activity.
SELECT substr(v.token_digest, 1, 4) AS fingerprint, v.observed_at, 'rotated' AS reason
FROM activities a
CROSS JOIN LATERAL (
    SELECT its.token_digest, its.observed_at
    FROM token_values its
    WHERE its.scope_id = :scope AND its.activity_key = a.activity_key
    LIMIT :most_searched
) AS v
WHERE a.scope_id = :scope AND a.activity_id = :id AND v.token_digest IS DISTINCT FROM a.token_digest
UNION ALL
SELECT substr(a.token_digest, 1, 4), a.token_observed_at,
    CASE
        WHEN a.ended_at IS NOT NULL THEN 'ended'
        WHEN a.expiry_recorded_at IS NOT NULL THEN 'expired'
        WHEN a.withheld = 'kind-conflict' THEN 'taken-over'
        ELSE a.withheld
    END
FROM activities a
WHERE a.scope_id = :scope AND a.activity_id = :id AND a.token_digest IS NOT NULL
    AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL OR a.withheld <> 'quarantined')
ORDER BY observed_at DESC
LIMIT :limit;

-- name: audit.list-installations
-- One page of installations, most recently active first. Index: installations_touched.
SELECT i.*
FROM installations i
WHERE i.scope_id = :scope AND i.touched_at > '-infinity'
    AND (i.touched_at, i.installation_hash) < (:touched_at, :installation)
ORDER BY i.touched_at DESC, i.installation_hash DESC
LIMIT :limit;

-- name: audit.list-channels
-- One page of channels, in the order of their aliases. Index: channels_pkey.
SELECT c.kind, c.value, c.channel_id, c.message_storage_policy, c.updated_at
FROM channels c
WHERE c.scope_id = :scope AND (c.kind, c.value) > (:kind, :value)
ORDER BY c.kind, c.value
LIMIT :limit;

-- name: audit.count-channels
-- Counts aliases with a channel, and distinct channels. Index: channels_pkey. Reads many rows: the scope's.
SELECT count(*) AS aliases, count(DISTINCT c.channel_id) AS channels
FROM channels c
WHERE c.scope_id = :scope;

-- name: audit.find-activity-range
-- The next range of activities for an export or a search for stale tokens: its last key and number of rows, and the
-- first and last key of all. min() would read the whole index of a table that was never analyzed.
-- Index: activities_of_key.
SELECT max(s.number) AS last, count(*) AS count,
    (
        SELECT a.activity_key FROM activities a WHERE a.scope_id = :scope AND a.activity_key > 0
        ORDER BY a.activity_key LIMIT 1
    ) AS first_of_all,
    (
        SELECT a.activity_key FROM activities a WHERE a.scope_id = :scope AND a.activity_key > 0
        ORDER BY a.activity_key DESC LIMIT 1
    ) AS last_of_all
FROM (
    SELECT a.activity_key AS number
    FROM activities a
    WHERE a.scope_id = :scope AND a.activity_key > 0 AND a.activity_key > :after
    ORDER BY a.activity_key
    LIMIT :size
) AS s;

-- name: audit.find-token-range
-- The next range of an installation token kind, like audit.find-activity-range. Index: installation_tokens_of_number.
SELECT max(s.number) AS last, count(*) AS count,
    (
        SELECT r.token_number FROM installation_tokens r
        WHERE r.scope_id = :scope AND r.kind = :kind AND r.token_number > 0
        ORDER BY r.token_number LIMIT 1
    ) AS first_of_all,
    (
        SELECT r.token_number FROM installation_tokens r
        WHERE r.scope_id = :scope AND r.kind = :kind AND r.token_number > 0
        ORDER BY r.token_number DESC LIMIT 1
    ) AS last_of_all
FROM (
    SELECT r.token_number AS number
    FROM installation_tokens r
    WHERE r.scope_id = :scope AND r.kind = :kind AND r.token_number > 0 AND r.token_number > :after
    ORDER BY r.token_number
    LIMIT :size
) AS s;
