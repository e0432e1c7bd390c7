-- erasure of an installation, 1: the same as erasure of a Live Activity, 1

-- erasure of an installation, 2: $1 bigint, $2 bigint, $3 bytea, $4 bigint
SELECT a.activity_id FROM activities a
WHERE a.scope_id = $1 AND a.activity_id = ANY(ARRAY(SELECT c.activity_id FROM activities c WHERE c.scope_id = $2 AND c.installation_hash = $3 LIMIT $4))
ORDER BY a.activity_id FOR UPDATE;

-- erasure of an installation, 3: the same as erasure of a Live Activity, 3

-- erasure of an installation, 4: the same as erasure of a Live Activity, 4

-- erasure of an installation, 5: the same as erasure of a Live Activity, 5

-- erasure of an installation, 6: the same as erasure of a Live Activity, 4

-- erasure of an installation, 7: the same as erasure of a Live Activity, 7

-- erasure of an installation, 8: $1 bytea, $2 bigint, $3 bigint
SELECT i.installation_hash
FROM (
    SELECT found.hash FROM (SELECT $1::bytea LIMIT $2) AS found (hash) ORDER BY found.hash
) AS named CROSS JOIN LATERAL (
    SELECT its.installation_hash FROM installations its
    WHERE its.scope_id = $3 AND its.installation_hash = named.hash LIMIT 1 FOR UPDATE
) AS i;

-- erasure of an installation, 9: the same as erasure of a user, 9

-- erasure of an installation, 10: the same as erasure of a Live Activity, 10

-- erasure of an installation, 11: the same as erasure of a Live Activity, 11

-- erasure of an installation, 12: the same as erasure of a Live Activity, 12

-- erasure of an installation, 13: the same as erasure of a Live Activity, 13

-- erasure of an installation, 14: the same as erasure of a Live Activity, 14

-- erasure of an installation, 15: the same as erasure of a Live Activity, 15
