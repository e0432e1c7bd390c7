-- Holds no lock between pages.

-- name: export.read-installations
-- Installations with their profiles and log-outs. Index: installations_in_order.
SELECT i.*
FROM installations i
WHERE i.scope_id = :scope AND i.installation_hash > '' AND i.installation_hash > :after
ORDER BY i.installation_hash
LIMIT :limit;

-- name: export.read-names
-- Identities with their last ends. Index: alias_identities_pkey.
SELECT i.alias, i.owner, i.ended_at
FROM alias_identities i
WHERE i.scope_id = :scope AND (i.alias, i.owner) > (:alias, :owner)
ORDER BY i.alias, i.owner
LIMIT :limit;

-- name: export.read-activities
-- The activities in a range of keys, with their names. Indexes: activities_of_key, alias_identities_pkey.
SELECT r.*, n.alias AS name, coalesce(n.ended_at >= r.ended_at, false) AS is_end_noted
FROM explained_activities r
LEFT JOIN LATERAL (
    SELECT i.alias, i.ended_at
    FROM jsonb_array_elements_text(r.aliases -> 'liveactivityId') AS name
    JOIN alias_identities i ON i.scope_id = :scope AND i.alias = name
        AND i.owner = CASE
            WHEN r.installation_hash IS NOT NULL THEN 'installation:' || encode(r.installation_hash, 'hex')
            WHEN r.subject IS NOT NULL THEN 'subject:' || r.subject
            ELSE 'app'
        END
    WHERE i.activity_id = r.activity_id
    LIMIT 1
) AS n ON true
WHERE r.scope_id = :scope AND r.activity_key > 0 AND r.activity_key > :after AND r.activity_key <= :through
ORDER BY r.activity_key;

-- name: export.read-tokens
-- A kind's installation tokens in a range of numbers. Index: installation_tokens_of_number.
SELECT r.installation_hash, r.attributes_type, r.token, r.observed_at
FROM deliverable_installation_tokens r
WHERE r.scope_id = :scope AND r.kind = :kind AND r.token_number > 0 AND r.token_number > :after
    AND r.token_number <= :through
ORDER BY r.token_number;
