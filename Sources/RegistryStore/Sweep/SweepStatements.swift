import PostgresDriver
import RegistryCore

/// The statements of the sweep, each page a small transaction. A row locked by a caller is left for the next page, so
/// the sweep waits for no caller, and any number of instances may share the work. Only a tombstone's values are waited
/// for: left behind, no statement would find them.
struct SweepStatements {
    let scope: Scope

    private var settings: AppSettings { scope.app.settings }

    private func isAmong(_ ids: [ActivityID]) -> SQL { "\(sql: scope.contains("a")) AND a.activity_id = ANY(\(ids))" }

    // MARK: Expiry

    /// Finds and locks expired activities without a recorded expiry.
    func expired(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a")) AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
        ORDER BY a.expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Their number, counted up to a limit, and the time of the first expiry, next to Postgres's clock.
    func overdue(limit: Int) -> SQL {
        """
        SELECT count(*), min(o.expires_at), now() FROM (
            SELECT a.expires_at FROM activities a
            WHERE \(sql: scope.contains("a")) AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
            ORDER BY a.expires_at LIMIT \(limit)
        ) AS o
        """
    }

    /// Deletes the tokens' bytes, and resolve no longer finds their aliases.
    func recordExpiry(of ids: [ActivityID]) -> [SQL] {
        [
            """
            UPDATE activities a SET token = NULL, expiry_recorded_at = now(), revision = a.revision + 1
            WHERE \(sql: isAmong(ids))
            """,
            AliasRowStatements.close("\(ids)", in: scope),
            EventStatements.insertion(
                """
                SELECT 'expired' AS type, \(unescaped: EventStatements.columns(of: "a"))
                FROM activities a WHERE \(sql: isAmong(ids))
                """,
                by: "sweep",
                in: scope
            ),
        ]
    }

    // MARK: Retention

    /// Finds and locks tombstones past their retention. A late request moves `touched_at`, and so keeps its tombstone.
    func tombstones(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a")) AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
            AND a.expires_at <= now() - \(settings.tombstoneRetention)
            AND a.touched_at <= now() - \(settings.tombstoneRetention)
        ORDER BY a.expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Tokens per transaction: an activity that was rotated a million times is deleted in many.
    static let tokenPageSize = 10_000

    /// Deletes a page of the activities' values, and returns its size; values that installations claim, too, stay with
    /// them.
    func deleteValues(of ids: [ActivityID]) -> SQL {
        """
        WITH page AS MATERIALIZED (
            SELECT v.token_digest FROM activities a CROSS JOIN LATERAL (
                SELECT own.token_digest FROM token_values own
                WHERE \(sql: scope.contains("own")) AND own.activity_key = a.activity_key
                LIMIT \(Self.tokenPageSize)
            ) AS v
            WHERE \(sql: isAmong(ids)) LIMIT \(Self.tokenPageSize)
        ), theirs AS MATERIALIZED (
            SELECT v.token_digest, v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL AS is_installations
            FROM token_values v
            WHERE \(sql: scope.contains("v")) AND v.token_digest = ANY(ARRAY(SELECT page.token_digest FROM page))
                AND v.activity_id = ANY(\(ids))
            ORDER BY v.token_digest FOR UPDATE
        ), released AS (
            UPDATE token_values t SET activity_id = NULL, activity_key = NULL, observed_at = NULL, touched_at = now()
            WHERE \(sql: scope.contains("t"))
                AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_installations))
        ), deleted AS (
            DELETE FROM token_values t WHERE \(sql: scope.contains("t"))
                AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_installations))
        )
        SELECT count(*) FROM page
        """
    }

    func delete(_ ids: [ActivityID]) -> [SQL] {
        [AliasRowStatements.deletion("\(ids)", in: scope), "DELETE FROM activities a WHERE \(sql: isAmong(ids))"]
    }

    /// Deletes deaths of unregistered values: an earlier claim is past its lifetime by now.
    func deleteUnclaimedValues(limit: Int) -> SQL {
        """
        DELETE FROM token_values t WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(ARRAY(
            SELECT v.token_digest FROM token_values v
            WHERE \(sql: scope.contains("v")) AND v.activity_id IS NULL AND v.installation_hash IS NULL
                AND v.start_observed_at IS NULL AND v.touched_at <= now() - \(settings.tombstoneRetention)
            ORDER BY v.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        """
    }

    /// Finds and locks alias identities under which nothing can run any more.
    func staleIdentities(limit: Int) -> SQL {
        """
        SELECT i.alias, i.owner FROM alias_identities i
        WHERE \(sql: scope.contains("i")) AND i.touched_at > '-infinity'
            AND i.touched_at <= now() - \(settings.activityLifetime) - \(settings.tombstoneRetention)
        ORDER BY i.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Deletes locked alias identities.
    func deleteIdentities(_ identities: [(alias: UTF8Text, owner: UTF8Text)]) -> SQL {
        """
        DELETE FROM alias_identities d WHERE \(sql: RowPlaces.isOf(scope, "d")) AND d.ctid = ANY(ARRAY(
            SELECT found.row FROM unnest(\(identities.map(\.alias)), \(identities.map(\.owner))) AS gone (alias, owner)
            CROSS JOIN LATERAL (
                SELECT r.ctid AS row FROM alias_identities r
                WHERE \(sql: scope.contains("r")) AND r.alias = gone.alias AND r.owner = gone.owner OFFSET 0
            ) AS found
        ))
        """
    }
}
