-- name: ends.read-running-page
-- One page of an alias's activities that are not over. Activities are looked up one by one.
-- Indexes: activity_aliases_pkey, activities_of_key.
SELECT a.activity_id, a.activity_key
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT its.activity_id, its.activity_key
    FROM activities its
    WHERE its.scope_id = :scope AND its.activity_key = al.activity_key AND its.activity_key > 0
    LIMIT 1
) AS a
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value AND NOT al.ended AND al.activity_key > :after
ORDER BY al.activity_key
LIMIT :limit;

-- name: ends.touch-ended
-- Writes one of the alias's ended activities, because the request that ended them may have failed before a standby had
-- it (R1). Indexes: activity_aliases_pkey, activities_of_key.
UPDATE activities a
SET touched_at = now()
WHERE a.scope_id = :scope AND a.activity_key > 0 AND a.activity_key = (
    SELECT al.activity_key
    FROM activity_aliases al
    WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value AND al.ended
    ORDER BY al.activity_key DESC
    LIMIT 1
);
