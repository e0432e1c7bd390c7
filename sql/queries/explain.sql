-- Why senders get the tokens of an alias or installation, or do not get them.

-- name: explain.read-page
-- One page of an alias's activities, open ones first. They are looked up one by one. Indexes: activity_aliases_pkey,
-- activities_of_key.
SELECT a.*
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT its.*
    FROM activity_explanations its
    WHERE its.scope_id = :scope AND its.activity_key = al.activity_key AND its.activity_key > 0
    LIMIT 1
) AS a
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value
    AND (al.ended, al.activity_key) > (:is_closed, :after)
ORDER BY al.ended, al.activity_key
LIMIT :limit;

-- name: explain.read-tokens-of-alias
-- The tokens of the first installations that have an alias. Indexes: installation_aliases_pkey,
-- installation_tokens_pkey.
SELECT r.*
FROM (
    SELECT al.installation_hash
    FROM installation_aliases al
    WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value
    ORDER BY al.installation_hash
    LIMIT :limit
) AS named
CROSS JOIN LATERAL (
    SELECT its.*
    FROM installation_token_explanations its
    WHERE its.scope_id = :scope AND its.installation_hash = named.installation_hash
    OFFSET 0
) AS r
ORDER BY r.installation_hash, r.kind, r.attributes_type;

-- name: explain.read-tokens
-- The tokens of an installation. Index: installation_tokens_pkey.
SELECT r.*
FROM installation_token_explanations r
WHERE r.scope_id = :scope AND r.installation_hash = :installation
ORDER BY r.kind, r.attributes_type;

-- name: explain.is-known
-- Whether any activity or installation has an alias. Indexes: activity_aliases_pkey, installation_aliases_pkey.
SELECT EXISTS (
        SELECT FROM activity_aliases al WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value
    ) OR EXISTS (
        SELECT FROM installation_aliases al WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value
    ) AS is_known;
