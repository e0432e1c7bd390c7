-- The sweep skips rows locked by callers, so it does not wait for them, and any number of instances may share the work.
-- It waits only for a tombstone's values, because no later query would find values left behind.

-- name: sweep.lock-expired
-- Locks a page of expired activities without a recorded expiry. Indexes: activities_running, counts_pkey.
SELECT a.ctid AS row_position, a.*
FROM activities a
WHERE a.scope_id = :scope AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
    AND a.expires_at >= coalesce(:start::timestamptz, (
        SELECT c.swept_to FROM counts c WHERE c.scope_id = :scope ORDER BY c.counted_at DESC LIMIT 1
    ), '-infinity')
ORDER BY a.expires_at
LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: sweep.count-overdue
-- Counts expired activities without a recorded expiry up to a limit, and reads the time since the first expiry.
-- Reads many rows. Indexes: activities_running, counts_pkey.
SELECT count(*) AS count, now() - min(o.expires_at) AS age, coalesce(min(o.expires_at), now()) AS swept_to
FROM (
    SELECT a.expires_at
    FROM activities a
    WHERE a.scope_id = :scope AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
        AND a.expires_at >= coalesce(:start::timestamptz, (
            SELECT c.swept_to FROM counts c WHERE c.scope_id = :scope ORDER BY c.counted_at DESC LIMIT 1
        ), '-infinity')
    ORDER BY a.expires_at LIMIT :limit
) AS o;

-- name: sweep.record-expiry
-- Records the expiry of locked activities, and deletes their token bytes. Index: activities_pkey.
UPDATE activities a
SET token = NULL, expiry_recorded_at = now(), revision = a.revision + 1
WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids);

-- name: sweep.lock-tombstones
-- Locks a page of tombstones past their retention. A late request updates touched_at and so keeps its tombstone.
-- Index: activities_over.
SELECT a.ctid AS row_position, a.*
FROM activities a
WHERE a.scope_id = :scope AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
    AND a.expires_at BETWEEN coalesce(:start::timestamptz, '-infinity') AND now() - :retention::interval
    AND (a.touched_at > now() - :retention::interval) IS NOT TRUE
ORDER BY a.expires_at
LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: sweep.delete-values
-- Deletes a page of locked activities' values, and returns its size. Keeps values that installations claim too.
-- Indexes: activities_pkey, token_values_of_activity, token_values_pkey.
WITH page AS MATERIALIZED (
    SELECT v.token_digest
    FROM activities a
    CROSS JOIN LATERAL (
        SELECT own.token_digest
        FROM token_values own
        WHERE own.scope_id = :scope AND own.activity_key = a.activity_key
        LIMIT :limit
    ) AS v
    WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids)
    LIMIT :limit
), theirs AS MATERIALIZED (
    SELECT v.token_digest, v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL AS is_of_installations
    FROM token_values v
    WHERE v.scope_id = :scope AND v.token_digest = ANY(ARRAY(SELECT page.token_digest FROM page))
        AND v.activity_id = ANY(:ids)
    ORDER BY v.token_digest
    FOR UPDATE
), released AS (
    UPDATE token_values t
    SET activity_id = NULL, activity_key = NULL, observed_at = NULL, touched_at = now()
    WHERE t.scope_id = :scope
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_of_installations))
), deleted AS (
    DELETE FROM token_values t
    WHERE t.scope_id = :scope
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_of_installations))
)
SELECT count(*) AS count FROM page;

-- name: sweep.delete-activities
-- Deletes locked activities. Index: activities_pkey.
DELETE FROM activities a
WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids);

-- name: sweep.delete-unclaimed-values
-- Deletes deaths of values that were never registered, because an earlier claim is past its lifetime.
-- Index: token_values_unclaimed.
DELETE FROM token_values t
WHERE t.scope_id = :scope AND t.token_digest = ANY(ARRAY(
    SELECT v.token_digest
    FROM token_values v
    WHERE v.scope_id = :scope AND v.activity_id IS NULL AND v.installation_hash IS NULL AND v.start_observed_at IS NULL
        AND v.touched_at <= now() - :retention::interval
    ORDER BY v.touched_at
    LIMIT :limit FOR UPDATE SKIP LOCKED
));

-- name: sweep.delete-unheld-values
-- Deletes values that installations claimed, if no installation holds them and no request touched them for the
-- retention of events. Held values are examined again after that time. Checks the locked row, so a value that is being
-- registered stays. Indexes: token_values_of_installations, installation_tokens_of_value, installation_tokens_pkey.
WITH old AS MATERIALIZED (
    SELECT v.ctid AS row_position, EXISTS (
            SELECT FROM installation_tokens r
            WHERE r.scope_id = :scope AND NOT r.has_one_owner AND r.token_digest = v.token_digest
                AND r.token IS NOT NULL
        ) OR EXISTS (
            SELECT FROM installation_tokens r
            WHERE r.scope_id = :scope AND r.installation_hash = v.installation_hash AND r.kind = v.installation_kind
                AND r.token_digest = v.token_digest AND r.token IS NOT NULL
        ) OR coalesce(v.dead_at > now() - :tombstone_retention::interval, false) AS is_held
    FROM token_values v
    WHERE v.scope_id = :scope AND v.activity_id IS NULL
        AND (v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL)
        AND v.touched_at <= now() - greatest(:event_retention::interval, :tombstone_retention::interval)
    ORDER BY v.touched_at
    LIMIT :limit FOR UPDATE SKIP LOCKED
), held AS (
    UPDATE token_values t
    SET touched_at = now()
    WHERE t.scope_id = :scope::bigint::numeric
        AND t.ctid = ANY(ARRAY(SELECT old.row_position FROM old WHERE old.is_held))
), unheld AS (
    DELETE FROM token_values t
    WHERE t.scope_id = :scope::bigint::numeric
        AND t.ctid = ANY(ARRAY(SELECT old.row_position FROM old WHERE NOT old.is_held))
)
SELECT count(*) AS count FROM old;

-- name: sweep.delete-identities
-- Deletes identities of name-only activities that can no longer run. Index: alias_identities_touched.
DELETE FROM alias_identities d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT i.ctid
    FROM alias_identities i
    WHERE i.scope_id = :scope AND i.touched_at > '-infinity'
        AND i.touched_at <= now() - :lifetime::interval - :retention::interval
    ORDER BY i.touched_at
    LIMIT :limit FOR UPDATE SKIP LOCKED
));

-- name: sweep.delete-removed-tokens
-- Deletes tombstones of installations' tokens, because earlier observations no longer arrive.
-- Index: installation_tokens_removed.
DELETE FROM installation_tokens r
WHERE r.scope_id = :scope::bigint::numeric AND r.ctid = ANY(ARRAY(
    SELECT s.ctid
    FROM installation_tokens s
    WHERE s.scope_id = :scope AND s.token IS NULL AND s.touched_at <= now() - :retention::interval
    ORDER BY s.touched_at
    LIMIT :limit FOR UPDATE SKIP LOCKED
));

-- name: sweep.lock-empty-installations
-- Examines a page of installations in the order of their hashes, and locks the empty ones without requests for the
-- retention of events. After the last hash it continues with the first, so every start yields a full page.
-- Reads many rows. Indexes: installations_in_order, installation_tokens_pkey, activities_of_installation.
WITH page AS MATERIALIZED (
    (SELECT i.installation_hash FROM installations i
    WHERE i.scope_id = :scope AND i.installation_hash > '' AND i.installation_hash >= :start
    ORDER BY i.installation_hash LIMIT :limit)
    UNION ALL
    (SELECT i.installation_hash FROM installations i
    WHERE i.scope_id = :scope AND i.installation_hash > '' AND i.installation_hash < :start
    ORDER BY i.installation_hash LIMIT :limit)
    LIMIT :limit
)
SELECT i.installation_hash
FROM page
CROSS JOIN LATERAL (
    SELECT its.installation_hash
    FROM installations its
    WHERE its.scope_id = :scope AND its.installation_hash = page.installation_hash
        AND its.touched_at <= now() - greatest(:event_retention::interval, :tombstone_retention::interval)
        AND NOT EXISTS (
            SELECT FROM installation_tokens r
            WHERE r.scope_id = :scope AND r.installation_hash = its.installation_hash
        )
        AND NOT EXISTS (
            SELECT FROM activities a WHERE a.scope_id = :scope AND a.installation_hash = its.installation_hash
        )
    FOR UPDATE SKIP LOCKED
) AS i;

-- name: sweep.delete-installation-aliases
-- Deletes locked installations' alias rows. Other indexes do not fit a numeric scope.
-- Index: installation_aliases_of_installation.
DELETE FROM installation_aliases al
WHERE al.scope_id = :scope::bigint::numeric AND al.installation_hash = ANY(:hashes);

-- name: sweep.delete-installations
-- Deletes locked installations without activities, which a scalar subquery looks up one by one.
-- Indexes: installations_pkey, activities_of_installation.
DELETE FROM installations i
WHERE i.scope_id = :scope AND i.installation_hash = ANY(:hashes) AND (SELECT true FROM activities a
    WHERE a.scope_id = :scope AND a.installation_hash = i.installation_hash LIMIT 1) IS NULL;

-- name: sweep.delete-leases
-- Deletes leases with attempts more than a day old, because no rule counts them. Index: start_leases_over.
DELETE FROM start_leases d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT l.ctid
    FROM start_leases l
    WHERE l.scope_id = :scope AND l.leased_until > '-infinity' AND l.leased_until <= now() - interval '24 hours'
    ORDER BY l.leased_until
    LIMIT :limit FOR UPDATE SKIP LOCKED
));
