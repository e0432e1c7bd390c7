-- The last confirmation has no index, because that would make every refresh expensive. Stale tokens are therefore
-- searched in ranges of their immutable numbers, as many per call as time allows. Quarantined tokens have an index.

-- name: stale.read-page
-- One page of a kind's stale tokens in a range, for some reasons. Values are looked up one by one.
-- Indexes: activities_of_key, installation_tokens_of_number, token_values_pkey. Reads many rows: the range.
SELECT s.number, s.is_unconfirmed, s.is_expired, s.is_quarantined, substr(s.token_digest, 1, 4) AS fingerprint,
    s.observed_at, s.confirmed_at, date_trunc('second', greatest(now() - s.confirmed_at, '0')) AS unconfirmed_for,
    s.activity_id, s.installation_hash, s.attributes_type, s.expires_at, t.quarantined_at, t.quarantine_reason
FROM (
    SELECT r.*, r.unconfirmed_since <= now() - :unconfirmed_for::interval AS is_unconfirmed,
        coalesce(r.expires_at <= now(), false) AS is_expired
    FROM purgeable_tokens r
    WHERE r.scope_id = :scope AND r.kind = :kind AND r.number > 0 AND r.number > :after AND r.number <= :through
        AND (:type::text IS NULL OR r.attributes_type = :type)
        AND (r.unconfirmed_since <= now() - :unconfirmed_for::interval AND 'unconfirmed' = ANY(:reasons)
            OR r.expires_at <= now() AND 'expired' = ANY(:reasons)
            OR r.is_quarantined AND 'quarantined' = ANY(:reasons))
    ORDER BY r.number
    LIMIT :limit
) AS s
LEFT JOIN LATERAL (
    SELECT its.quarantined_at, its.quarantine_reason
    FROM token_values its
    WHERE its.scope_id = :scope AND its.token_digest = s.token_digest
    LIMIT 1
) AS t ON true
ORDER BY s.number;

-- name: stale.count
-- Counts a kind's stale tokens in a range, by reason. Indexes: activities_of_key, installation_tokens_of_number.
-- Reads many rows: the range.
SELECT r.unconfirmed_since <= now() - :unconfirmed_for::interval AS is_unconfirmed,
    coalesce(r.expires_at <= now(), false) AS is_expired, r.is_quarantined, count(*) AS count
FROM purgeable_tokens r
WHERE r.scope_id = :scope AND r.kind = :kind AND r.number > 0 AND r.number > :after AND r.number <= :through
    AND (:type::text IS NULL OR r.attributes_type = :type)
    AND (r.unconfirmed_since <= now() - :unconfirmed_for::interval AND 'unconfirmed' = ANY(:reasons)
        OR r.expires_at <= now() AND 'expired' = ANY(:reasons)
        OR r.is_quarantined AND 'quarantined' = ANY(:reasons))
GROUP BY 1, 2, 3;

-- name: stale.read-quarantined-page
-- One page of a kind's quarantined tokens, and the number of all that follow. Begins with the few quarantined values
-- and looks up their tokens. Indexes: token_values_quarantined, activities_pkey, installation_tokens_pkey,
-- installation_tokens_of_value. Reads many rows: all quarantined ones, which the burst guard limits.
SELECT r.number, false AS is_unconfirmed, false AS is_expired, true AS is_quarantined,
    substr(v.token_digest, 1, 4) AS fingerprint, r.observed_at, r.confirmed_at,
    date_trunc('second', greatest(now() - r.confirmed_at, '0')) AS unconfirmed_for, r.activity_id, r.installation_hash,
    r.attributes_type, r.expires_at, v.quarantined_at, v.quarantine_reason, count(*) OVER () AS count
FROM token_values v
CROSS JOIN LATERAL (
    SELECT its.*
    FROM purgeable_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.activity_id = v.activity_id
    UNION ALL
    SELECT its.*
    FROM purgeable_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.installation_hash = v.installation_hash
        AND its.has_one_owner
    UNION ALL
    SELECT its.*
    FROM purgeable_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.token_digest = v.token_digest AND NOT its.has_one_owner
    LIMIT :most
) AS r
WHERE v.scope_id = :scope AND v.quarantined_at IS NOT NULL
    AND r.token_digest = v.token_digest AND r.is_quarantined AND r.number > :after
    AND (:type::text IS NULL OR r.attributes_type = :type)
ORDER BY r.number
LIMIT :limit;

-- name: stale.find-among
-- Finds the given tokens that are still stale after they were locked. Indexes: activities_of_key,
-- installation_tokens_of_number.
SELECT r.number
FROM unnest(:numbers::bigint[]) AS named (number)
CROSS JOIN LATERAL (
    SELECT its.*
    FROM purgeable_tokens its
    WHERE its.scope_id = :scope AND its.kind = :kind AND its.number > 0 AND its.number = named.number
    LIMIT 1
) AS r
WHERE (:type::text IS NULL OR r.attributes_type = :type)
    AND (r.unconfirmed_since <= now() - :unconfirmed_for::interval AND 'unconfirmed' = ANY(:reasons)
        OR r.expires_at <= now() AND 'expired' = ANY(:reasons)
        OR r.is_quarantined AND 'quarantined' = ANY(:reasons))
ORDER BY r.number;
