-- Resolve reads the views of deliverable rows; nothing else decides which tokens senders get. Rows of an alias are read
-- in the order of its index and looked up one by one (LIMIT 1), because a join would read a very large alias before its
-- first page.

-- name: resolve.read-page
-- One page of an alias's rows in the order of activity keys. A withheld activity is null, so that a page with many
-- withheld activities ends. Indexes: activity_aliases_pkey, activities_of_key, installations_pkey.
SELECT al.activity_key AS row_key, c.*
FROM (
    SELECT its.activity_key
    FROM activity_aliases its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.value = :value AND NOT its.ended
        AND its.activity_key > :after
    ORDER BY its.activity_key
    LIMIT :limit
) AS al
LEFT JOIN LATERAL (
    SELECT *
    FROM deliverable_activities a
    WHERE a.scope_id = :scope AND a.activity_key = al.activity_key AND a.activity_key > 0
    LIMIT 1
) AS c ON true
ORDER BY al.activity_key;

-- name: resolve.read-pages
-- The first rows of many aliases. Lateral joins return them alias by alias, so :most cuts only the last aliases. Within
-- an alias they are unsorted, because sorting wide rows costs more than sorting keys afterwards. OFFSET 0 keeps the
-- planner from caching activities of other aliases. Indexes: activity_aliases_pkey, activities_of_key,
-- installations_pkey.
SELECT q.position, c.*
FROM unnest(:kinds::text[], :values::text[]) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT al.activity_key AS row_key, cur.*
    FROM (
        SELECT its.activity_key
        FROM activity_aliases its
        WHERE its.scope_id = :scope AND its.kind = q.kind AND its.value = q.value AND NOT its.ended
        ORDER BY its.activity_key
        LIMIT :limit
    ) AS al
    LEFT JOIN LATERAL (
        SELECT *
        FROM deliverable_activities a
        WHERE a.scope_id = :scope AND a.activity_key = al.activity_key AND a.activity_key > 0
        LIMIT 1
    ) AS cur ON true
    OFFSET 0
) AS c
LIMIT :most;

-- name: resolve.find-key
-- The key :skipped rows after an alias's next row: the end of a range. Index: activity_aliases_pkey.
SELECT al.activity_key
FROM activity_aliases al
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value AND NOT al.ended AND al.activity_key > :after
ORDER BY al.activity_key
LIMIT 1 OFFSET :skipped;

-- name: resolve.read-range
-- An alias's activities up to a key. Indexes: activity_aliases_pkey, activities_of_key, installations_pkey.
SELECT c.*
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT *
    FROM deliverable_activities a
    WHERE a.scope_id = :scope AND a.activity_key = al.activity_key AND a.activity_key > 0
    LIMIT 1
) AS c
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value AND NOT al.ended
    AND al.activity_key > :after AND al.activity_key <= :last
ORDER BY al.activity_key;

-- name: resolve.read-dense-range
-- Like resolve.read-range, but for ranges in which most activities have the alias: reads all in order and omits the
-- others. IS TRUE makes Postgres keep the alias's rows in a hash table. Indexes: activities_of_key,
-- activity_aliases_pkey, installations_pkey.
SELECT c.*
FROM deliverable_activities c
WHERE c.scope_id = :scope AND c.activity_key > 0 AND c.activity_key > :after AND c.activity_key <= :last
    AND (c.activity_key IN (
        SELECT al.activity_key
        FROM activity_aliases al
        WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value AND NOT al.ended
            AND al.activity_key > :after AND al.activity_key <= :last
    )) IS TRUE
ORDER BY c.activity_key;

-- name: resolve.read-activity
-- An activity in any state. Indexes: activities_pkey, installations_pkey.
SELECT a.*
FROM sender_activities a
WHERE a.scope_id = :scope AND a.activity_id = :id;

-- name: resolve.read-metadata
-- The metadata of some activities. Index: activities_of_key.
SELECT a.activity_key, a.metadata
FROM unnest(:keys::bigint[]) AS q (activity_key)
CROSS JOIN LATERAL (
    SELECT its.activity_key, its.metadata
    FROM activities its
    WHERE its.scope_id = :scope AND its.activity_key = q.activity_key AND its.activity_key > 0
    LIMIT 1
) AS a
WHERE a.metadata IS NOT NULL;

-- name: resolve.read-installation-metadata
-- The metadata of some installations. Index: installations_pkey.
SELECT i.installation_hash, i.metadata
FROM installations i
WHERE i.scope_id = :scope AND i.installation_hash = ANY(:hashes) AND i.metadata IS NOT NULL;

-- name: resolve.read-channels
-- The channels of some aliases, with each alias's position. Index: channels_pkey.
SELECT q.position, c.channel_id, c.message_storage_policy
FROM unnest(:kinds::text[], :values::text[]) WITH ORDINALITY AS q (kind, value, position)
CROSS JOIN LATERAL (
    SELECT its.channel_id, its.message_storage_policy
    FROM channels its
    WHERE its.scope_id = :scope AND its.kind = q.kind AND its.value = q.value
    LIMIT 1
) AS c;

-- name: resolve.read-tokens
-- One page of an alias's tokens of a kind, optionally of one attributes type, in the immutable order of (installation
-- hash, attributes type). By token number, each page would sort all the alias's tokens. OFFSET 0 keeps the planner from
-- joining all of them before the page. Indexes: installation_aliases_pkey, installation_tokens_pkey.
SELECT c.token, c.installation_hash, c.attributes_type, c.observed_at, c.confirmed_at
FROM installation_aliases al
CROSS JOIN LATERAL (
    SELECT *
    FROM deliverable_installation_tokens r
    WHERE r.scope_id = :scope AND r.installation_hash = al.installation_hash AND r.kind = :token_kind
        AND r.attributes_type = coalesce(:attributes_type, r.attributes_type)
    OFFSET 0
) AS c
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value AND al.installation_hash >= :installation
    AND (al.installation_hash, c.attributes_type) > (:installation, :type)
ORDER BY al.installation_hash, c.attributes_type
LIMIT :limit;
