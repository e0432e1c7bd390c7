-- erasure of a user, 1: the same as erasure of a Live Activity, 1

-- erasure of a user, 2: $1 bigint, $2 bigint, $3 text, $4 bigint
SELECT a.activity_id FROM activities a
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(SELECT c.activity_id FROM activities c WHERE c.scope_id = $2 AND c.subject = $3 LIMIT $4))
ORDER BY a.activity_id FOR UPDATE;

-- erasure of a user, 3: the same as erasure of a Live Activity, 3

-- erasure of a user, 4: the same as erasure of a Live Activity, 4

-- erasure of a user, 5: the same as erasure of a Live Activity, 5

-- erasure of a user, 6: the same as erasure of a Live Activity, 4

-- erasure of a user, 7: the same as erasure of a Live Activity, 7

-- erasure of a user, 8: $1 bigint, $2 text, $3 bigint, $4 bigint
SELECT i.installation_hash
FROM (
    SELECT found.hash FROM (SELECT c.installation_hash FROM installations c WHERE c.scope_id = $1 AND c.subject = $2 LIMIT $3) AS found (hash) ORDER BY found.hash
) AS named CROSS JOIN LATERAL (
    SELECT its.installation_hash FROM installations its
    WHERE its.scope_id = $4 AND its.installation_hash = named.hash LIMIT 1 FOR UPDATE
) AS i;

-- erasure of a user, 9: $1 bigint, $2 text, $3 bigint
SELECT i.alias, i.owner FROM alias_identities i
WHERE i.scope_id = $1 AND i.owner = $2 AND i.owner <> 'app' LIMIT $3 FOR UPDATE;

-- erasure of a user, 10: the same as erasure of a Live Activity, 10

-- erasure of a user, 11: the same as erasure of a Live Activity, 11

-- erasure of a user, 12: the same as erasure of a Live Activity, 12

-- erasure of a user, 13: the same as erasure of a Live Activity, 13

-- erasure of a user, 14: the same as erasure of a Live Activity, 14

-- erasure of a user, 15: the same as erasure of a Live Activity, 15
