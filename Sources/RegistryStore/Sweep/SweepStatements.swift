import PostgresDriver
import RegistryCore

/// The statements of the sweep, each page a small transaction. A row that a caller has locked is left for the next
/// page, so the sweep waits for nobody, and any number of instances may share the work. Only a tombstone's values are
/// waited for: left behind, they would be found by nobody.
struct SweepStatements {
    let scope: Scope

    private var settings: AppSettings { scope.app.settings }

    private func isAmong(_ ids: [ActivityID]) -> SQL { "\(sql: scope.contains("a")) AND a.activity_id = ANY(\(ids))" }

    // MARK: Expiry

    /// Finds and locks activities that have expired and of which nothing says so yet.
    func expired(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a")) AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
        ORDER BY a.expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// How many of them there are, counted up to a limit, and when the first of them expired, beside Postgres's clock.
    func overdue(limit: Int) -> SQL {
        """
        SELECT count(*), min(o.expires_at), now() FROM (
            SELECT a.expires_at FROM activities a
            WHERE \(sql: scope.contains("a")) AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND a.expires_at <= now()
            ORDER BY a.expires_at LIMIT \(limit)
        ) AS o
        """
    }

    /// Writes down that they expired: the token's bytes go, resolve no longer finds their aliases.
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

    /// Finds and locks tombstones that are past their retention. A late request moves `touched_at`, and so keeps its
    /// tombstone.
    func tombstones(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a")) AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL)
            AND a.expires_at <= now() - \(settings.tombstoneRetention)
            AND a.touched_at <= now() - \(settings.tombstoneRetention)
        ORDER BY a.expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// How many tokens go in one transaction: an activity that was rotated a million times is deleted in many.
    static let tokenPageSize = 10_000

    /// Deletes a page of the claims that activities lost to others.
    func deleteFormerClaims(of ids: [ActivityID]) -> SQL {
        """
        DELETE FROM former_claims f WHERE \(sql: RowPlaces.isOf(scope.app.number, "f")) AND f.ctid = ANY(ARRAY(
            SELECT c.ctid FROM former_claims c WHERE \(sql: scope.contains("c")) AND c.activity_id = ANY(\(ids))
            LIMIT \(Self.tokenPageSize)
        ))
        """
    }

    /// Deletes a page of the values that are the activities', and gives how many it has; those that installations claim, too, are
    /// theirs alone from then on.
    func deleteValues(of ids: [ActivityID]) -> SQL {
        """
        WITH page AS MATERIALIZED (
            SELECT v.token_digest FROM activities a CROSS JOIN LATERAL (
                SELECT own.token_digest FROM token_values own
                WHERE \(sql: scope.contains("own")) AND own.activity_number = a.activity_number
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
            UPDATE token_values t SET activity_id = NULL, activity_number = NULL, observed_at = NULL,
                displaced_activity_id = NULL, displaced_observed_at = NULL, touched_at = now()
            WHERE \(sql: scope.contains("t"))
                AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_installations))
        ), deleted AS (
            DELETE FROM token_values t WHERE \(sql: scope.contains("t"))
                AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_installations))
        )
        SELECT count(*) FROM page
        """
    }

    /// Deletes all else that is left of activities.
    func delete(_ ids: [ActivityID]) -> [SQL] {
        [AliasRowStatements.deletion("\(ids)", in: scope), "DELETE FROM activities a WHERE \(sql: isAmong(ids))"]
    }

    /// Forgets deaths of values that nobody registered: a claim from before them is past its lifetime by now.
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

    /// Deletes alias identities with what was registered under them. The identities are locked, so that their rows stay where
    /// they are found.
    func deleteIdentities(_ identities: [(alias: UTF8Text, owner: UTF8Text)]) -> [SQL] {
        ["alias_registrations", "alias_identities"].map { table in
            """
            DELETE FROM \(unescaped: table) d WHERE \(sql: RowPlaces.isOf(scope.app.number, "d")) AND d.ctid = ANY(ARRAY(
                SELECT found.row FROM unnest(\(identities.map(\.alias)), \(identities.map(\.owner))) AS gone (alias, owner)
                CROSS JOIN LATERAL (
                    SELECT r.ctid AS row FROM \(unescaped: table) r
                    WHERE \(sql: scope.contains("r")) AND r.alias = gone.alias AND r.owner = gone.owner OFFSET 0
                ) AS found
            ))
            """
        }
    }
}
