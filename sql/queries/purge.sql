-- A purge covers only the claims so far: a later observation by a client restores the token. An activity's value counts
-- as dead since its last claim, an installation's token as deleted since its last observation, so another holder with a
-- later claim is not affected.

-- name: purge.find-activities
-- Finds activities by key, one by one. Index: activities_of_key.
SELECT a.activity_id
FROM unnest(:keys::bigint[]) AS named (key)
CROSS JOIN LATERAL (
    SELECT its.activity_id
    FROM activities its
    WHERE its.scope_id = :scope AND its.activity_key = named.key AND its.activity_key > 0
    LIMIT 1
) AS a;

-- name: purge.withhold-tokens
-- Withholds locked rows by ctid.
UPDATE installation_tokens r
SET withheld = 'purged'
WHERE r.scope_id = :scope::bigint::numeric AND r.ctid = ANY(:positions);

-- name: purge.update-values
-- Records the death of the values of locked activities, by ctid.
UPDATE token_values v
SET dead_at = greatest(v.dead_at, n.claimed_at), purged_at = greatest(v.dead_at, n.claimed_at)
FROM unnest(:positions::tid[], :claimed_at::timestamptz[]) AS n (row_position, claimed_at)
WHERE v.ctid = n.row_position AND v.scope_id = :scope::bigint::numeric;

-- name: purge.update-activities
-- Withholds the tokens of locked activities. Index: activities_pkey.
UPDATE activities a
SET withheld = CASE WHEN a.withheld IN ('taken-over', 'kind-conflict') THEN a.withheld ELSE 'purged' END,
    revision = a.revision + 1, touched_at = statement_timestamp()
WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids) AND a.token_digest IS NOT NULL;

-- name: purge.find-installations
-- Finds the installations of some tokens, one by one. Index: installation_tokens_of_number.
SELECT r.installation_hash
FROM unnest(:numbers::bigint[]) AS named (number)
CROSS JOIN LATERAL (
    SELECT its.installation_hash
    FROM installation_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.token_number = named.number AND its.token_number > 0
    LIMIT 1
) AS r;

-- name: purge.lock-tokens
-- Locks the named tokens after their installations. Index: installation_tokens_of_number.
SELECT r.row_position
FROM unnest(:numbers::bigint[]) AS named (number)
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position
    FROM installation_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.token_number = named.number AND its.token_number > 0
    LIMIT 1
    FOR UPDATE
) AS r;

-- name: purge.insert-token-events
-- Writes an event for each locked token, like sweep.insert-events. Index: installations_pkey.
INSERT INTO events (
    scope_id, drop_on, type, who, installation_hash, subject, aliases, token_fingerprint, token_kind, attributes_type
)
WITH given AS MATERIALIZED (
    SELECT :scope::bigint AS scope_id, (now() + :retention::interval)::date + 1 AS drop_on, 'purged'::text AS type,
        :who::text AS who, i.installation_hash, i.subject, i.aliases,
        substr(r.token_digest, 1, 4) AS token_fingerprint, r.kind, nullif(r.attributes_type, '') AS attributes_type
    FROM installation_tokens r
    CROSS JOIN LATERAL (
        SELECT its.installation_hash, its.subject, its.aliases
        FROM installations its
        WHERE its.scope_id = :scope AND its.installation_hash = r.installation_hash
        LIMIT 1
    ) AS i
    WHERE r.scope_id = :scope::bigint::numeric AND r.ctid = ANY(:positions)
)
SELECT * FROM given;

-- name: purge.delete-tokens
-- Deletes locked tokens by ctid.
UPDATE installation_tokens r
SET token = NULL, withheld = NULL, deleted_at = greatest(r.deleted_at, r.observed_at),
    purged_at = greatest(r.deleted_at, r.observed_at), touched_at = statement_timestamp()
WHERE r.scope_id = :scope::bigint::numeric AND r.ctid = ANY(:positions);
