-- A purge covers only the claims so far: a later observation by a client restores the token. An activity's value counts
-- as dead since its last claim, an installation's token as deleted since its last observation, so another holder with a
-- later claim is not affected.

-- name: purge.withhold-tokens
UPDATE installation_tokens r
SET withheld = 'purged'
WHERE r.scope_id = :scope::bigint::numeric AND r.ctid = ANY(:positions);

-- name: purge.update-values
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

-- name: purge.lock-tokens
-- Locks the named tokens after their installations. Index: installation_tokens_of_number.
SELECT r.*
FROM unnest(:numbers::bigint[]) AS named (number)
CROSS JOIN LATERAL (
    SELECT its.ctid AS row_position, its.*
    FROM installation_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.token_number = named.number AND its.token_number > 0
    LIMIT 1 FOR UPDATE
) AS r;

-- name: purge.delete-tokens
UPDATE installation_tokens r
SET token = NULL, withheld = NULL, deleted_at = greatest(r.deleted_at, r.observed_at),
    purged_at = greatest(r.deleted_at, r.observed_at), touched_at = statement_timestamp()
WHERE r.scope_id = :scope::bigint::numeric AND r.ctid = ANY(:positions);
