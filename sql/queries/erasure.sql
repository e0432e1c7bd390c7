-- Rows that lead to others are deleted last.

-- name: erasure.remember
-- Stores erased names as digests with the app's salt; no row if the app was deleted. Indexes: apps_pkey, erasures_pkey.
INSERT INTO erasures AS stored (scope_id, erased_digest, erased_at)
SELECT :scope, sha256(uuid_send(app.erasure_salt) || convert_to(named.name, 'UTF8')), clock_timestamp()
FROM apps app
CROSS JOIN unnest(:names::text[]) AS named (name)
WHERE app.app_id = :app
ORDER BY 2
ON CONFLICT (scope_id, erased_digest) DO UPDATE SET erased_at = excluded.erased_at;

-- name: erasure.count-writers
-- Counts writing transactions that began before a time and may have missed a commit. A statement locks its tables
-- before it takes its snapshot, so a transaction with an older snapshot already holds the lock. Reads many rows.
SELECT count(*) AS count
FROM pg_locks l
JOIN pg_stat_activity s ON s.pid = l.pid
WHERE l.locktype = 'relation' AND l.pid <> pg_backend_pid()
    -- A unit of work with row locks has checked erasures but may not have written yet.
    AND (l.mode = 'RowExclusiveLock'
        OR (l.mode = 'RowShareLock' AND l.relation IN ('activities'::regclass, 'installations'::regclass)))
    AND l.relation = ANY(ARRAY[
        'activities', 'installations', 'alias_identities', 'token_values', 'channels', 'channel_quotas', 'start_leases',
        'quarantine_guards', 'counts'
    ]::regclass[]::oid[])
    AND s.xact_start <= :time;

-- name: erasure.insert-event
INSERT INTO events (scope_id, drop_on, type, who)
VALUES (:scope, (now() + :retention::interval)::date + 1, 'erased', :who);

-- name: erasure.find-activities-of-alias
-- Finds a page of an alias's activities, one by one. Indexes: activity_aliases_pkey, activities_of_key.
SELECT a.activity_id
FROM activity_aliases al
CROSS JOIN LATERAL (
    SELECT its.activity_id
    FROM activities its
    WHERE its.scope_id = :scope AND its.activity_key = al.activity_key AND its.activity_key > 0
    LIMIT 1
) AS a
WHERE al.scope_id = :scope AND al.kind = :kind AND al.value = :value
LIMIT :limit;

-- name: erasure.find-activities-of-installation
-- Finds a page of an installation's activities. Index: activities_of_installation.
SELECT a.activity_id
FROM activities a
WHERE a.scope_id = :scope AND a.installation_hash = :installation
LIMIT :limit;

-- name: erasure.find-activities-of-subject
-- Finds a page of a user's activities. Index: activities_of_subject.
SELECT a.activity_id
FROM activities a
WHERE a.scope_id = :scope AND a.subject = :subject
LIMIT :limit;

-- name: erasure.withhold
-- Withholds the tokens of locked activities that one transaction cannot delete. Index: activities_pkey.
UPDATE activities a
SET token = NULL, revision = a.revision + 1
WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids) AND a.token IS NOT NULL;

-- name: erasure.delete-identities-of-activities
-- Deletes the identities of locked activities. Indexes: activities_pkey, alias_identities_pkey.
DELETE FROM alias_identities d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row_position
    FROM activities a
    CROSS JOIN LATERAL jsonb_array_elements_text(a.aliases -> :kind) AS named
    CROSS JOIN unnest(ARRAY[
        'installation:' || encode(a.installation_hash, 'hex'), 'subject:' || a.subject, 'app'
    ]) AS owners (owner)
    CROSS JOIN LATERAL (
        SELECT its.ctid AS row_position, its.activity_id
        FROM alias_identities its
        WHERE its.scope_id = :scope AND its.alias = named.value AND its.owner = owners.owner
        LIMIT 1
    ) AS found
    WHERE a.scope_id = :scope AND a.activity_id = ANY(:ids) AND found.activity_id = a.activity_id
));

-- name: erasure.find-installations-of-subject
-- Finds a page of a user's installations. Index: installations_of_subject.
SELECT i.installation_hash
FROM installations i
WHERE i.scope_id = :scope AND i.subject = :subject
LIMIT :limit;

-- name: erasure.delete-values
-- Removes locked installations from a page of the values that they own, and from the values of their tokens; returns
-- the page size and the number of changes. Deletes a value without another holder; a value without an owner may have
-- other installations. Keeps values claimed by an activity, with APNs's reports. Indexes: token_values_of_installation,
-- installation_tokens_pkey, token_values_pkey, installation_tokens_of_value.
WITH page AS MATERIALIZED (
    SELECT v.token_digest
    FROM unnest(:hashes::bytea[]) AS named (hash)
    CROSS JOIN LATERAL (
        SELECT its.token_digest FROM token_values its
        WHERE its.scope_id = :scope AND its.installation_hash = named.hash AND its.installation_hash > '' LIMIT :limit
    ) AS v
    LIMIT :limit
), theirs AS MATERIALIZED (
    SELECT t.token_digest, (t.activity_id IS NULL AND (t.installation_hash = ANY(:hashes) OR (
            -- A scalar subquery, because the planner could hash EXISTS and read all tokens for it.
            t.installation_hash IS NULL AND (SELECT true FROM installation_tokens r
                WHERE r.scope_id = :scope AND NOT r.has_one_owner AND r.token_digest = t.token_digest
                    AND r.installation_hash <> ALL(:hashes) LIMIT 1) IS NULL
        ))) IS TRUE AS is_unheld
    FROM token_values t
    WHERE t.scope_id = :scope AND t.token_digest = ANY(ARRAY(
            SELECT page.token_digest FROM page
            UNION ALL
            SELECT r.token_digest FROM unnest(:hashes::bytea[]) AS named (hash) CROSS JOIN LATERAL (
                SELECT its.token_digest FROM installation_tokens its
                WHERE its.scope_id = :scope AND its.installation_hash = named.hash OFFSET 0
            ) AS r
        )) AND (t.installation_hash = ANY(:hashes) OR (t.activity_id IS NULL AND t.installation_hash IS NULL))
    ORDER BY t.token_digest FOR UPDATE
), deleted AS (
    DELETE FROM token_values t WHERE t.scope_id = :scope
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_unheld))
), released AS (
    UPDATE token_values t SET installation_hash = NULL, installation_kind = NULL, installation_observed_at = NULL
    WHERE t.scope_id = :scope AND t.installation_hash = ANY(:hashes)
        AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_unheld))
    RETURNING t.token_digest
)
SELECT (SELECT count(*) FROM page) AS page_size,
    (SELECT count(*) FROM theirs WHERE theirs.is_unheld) + (SELECT count(*) FROM released) AS changes;

-- name: erasure.delete-tokens
-- Deletes the tokens of locked installations, like installations.delete-leases. Index: installation_tokens_pkey.
DELETE FROM installation_tokens d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT found.row_position
    FROM unnest(:hashes::bytea[]) AS n (installation_hash)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS row_position
        FROM installation_tokens r
        WHERE r.scope_id = :scope AND r.installation_hash = n.installation_hash FOR UPDATE
    ) AS found
));

-- name: erasure.redact-installations
-- Removes all but the times from locked installations that have activities. Index: installations_pkey.
UPDATE installations i
SET subject = NULL, subject_observed_at = NULL, taken_over_at = NULL, other_user_observed_at = NULL, aliases = NULL,
    aliases_observed_at = NULL, metadata = NULL, metadata_observed_at = NULL
WHERE i.scope_id = :scope AND i.installation_hash = ANY(:hashes);

-- name: erasure.delete-leases-of-alias
-- Deletes a page of an alias's leases. Index: start_leases_of_alias.
DELETE FROM start_leases d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT l.ctid
    FROM start_leases l
    WHERE l.scope_id = :scope AND l.kind = :kind AND l.value = :value
    LIMIT :limit FOR UPDATE
));

-- name: erasure.delete-identities-of-alias
-- Deletes a page of an alias's identities. Index: alias_identities_pkey.
DELETE FROM alias_identities d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT i.ctid
    FROM alias_identities i
    WHERE i.scope_id = :scope AND i.alias = :alias
    LIMIT :limit FOR UPDATE
));

-- name: erasure.delete-identities-of-owner
-- Deletes a page of an installation's or user's identities. Index: alias_identities_of_owner.
DELETE FROM alias_identities d
WHERE d.scope_id = :scope::bigint::numeric AND d.ctid = ANY(ARRAY(
    SELECT i.ctid
    FROM alias_identities i
    WHERE i.scope_id = :scope AND i.owner = :owner AND i.owner <> 'app'
    LIMIT :limit FOR UPDATE
));

-- name: erasure.find-events-of-activities
-- Finds a page of activities' events; redacted events are not found again. The numeric scope keeps other indexes from
-- being used, here and in the next two queries. Index: events_of_activity.
SELECT e.event_number
FROM events e
WHERE e.scope_id = :scope::bigint::numeric AND hashtextextended(e.activity_id, 0) = ANY(ARRAY(
        SELECT hashtextextended(named.id, 0) FROM unnest(:ids::text[]) AS named (id)
    )) AND e.activity_id = ANY(:ids)
LIMIT :limit;

-- name: erasure.find-events-of-installations
-- Finds a page of installations' events. Runs after events.prefer-indexes. Index: events_summary.
SELECT e.event_number
FROM events e
WHERE e.scope_id = :scope::bigint::numeric AND e.installation_hash = ANY(:hashes)
LIMIT :limit;

-- name: erasure.find-events-of-subject
-- Finds a page of a user's events. Runs after events.prefer-indexes. Index: events_summary.
SELECT e.event_number
FROM events e
WHERE e.scope_id = :scope::bigint::numeric AND (e.subject = :subject OR e.who = :who)
LIMIT :limit;

-- name: erasure.find-events-of-alias
-- Reads a page of all events, because aliases have no index: the last number, null after the last page, and the events
-- with the alias. Reads many rows. Index: events_pkey.
SELECT max(page.event_number) AS last,
    array_agg(page.event_number) FILTER (WHERE page.aliases -> :kind ? :value) AS numbers
FROM (
    SELECT e.event_number, e.aliases
    FROM events e
    WHERE e.scope_id = :scope AND e.event_number > :after
    ORDER BY e.event_number
    LIMIT :limit
) AS page;

-- name: erasure.redact-events
-- Removes all personal data from events. Index: events_pkey.
UPDATE events e
SET activity_id = NULL, installation_hash = NULL, subject = NULL, aliases = NULL, token_fingerprint = NULL,
    who = CASE WHEN starts_with(e.who, 'user:') THEN 'erased' ELSE e.who END
WHERE e.scope_id = :scope AND e.event_number = ANY(:numbers);
