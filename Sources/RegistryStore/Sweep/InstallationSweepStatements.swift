import PostgresDriver
import RegistryCore

/// The sweep of installations' data: deleted tokens, replaced values, and empty installations.
struct InstallationSweepStatements {
    let scope: Scope

    private var settings: AppSettings { scope.app.settings }

    /// Deletes tombstones of tokens: earlier observations no longer arrive.
    func deleteRemovedTokens(limit: Int) -> SQL {
        """
        DELETE FROM installation_tokens r WHERE \(sql: RowPlaces.isOf(scope, "r")) AND r.ctid = ANY(ARRAY(
            SELECT s.ctid FROM installation_tokens s
            WHERE \(sql: scope.contains("s")) AND s.token IS NULL AND s.touched_at <= now() - \(settings.tombstoneRetention)
            ORDER BY s.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        """
    }

    /// Deletes values claimed by installations that no request touched for as long as events are kept, if no
    /// installation holds them. Held ones are examined again after as long.
    ///
    /// The time is read from the locked row, so a value that is being registered stays.
    func deleteUnheldValues(limit: Int) -> SQL {
        """
        WITH old AS MATERIALIZED (
            SELECT v.ctid AS place, EXISTS (SELECT FROM installation_tokens r WHERE \(sql: scope.contains("r"))
                    AND NOT r.has_one_owner AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
                OR EXISTS (SELECT FROM installation_tokens r WHERE \(sql: scope.contains("r"))
                    AND r.installation_hash = v.installation_hash AND r.kind = v.installation_kind
                    AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
                OR coalesce(v.dead_at > now() - \(settings.tombstoneRetention), false) AS is_held
            FROM token_values v
            WHERE \(sql: scope.contains("v")) AND v.activity_id IS NULL
                AND (v.installation_hash IS NOT NULL OR v.start_observed_at IS NOT NULL)
                AND v.touched_at <= now() - greatest(\(settings.eventRetention), \(settings.tombstoneRetention))
            ORDER BY v.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ), held AS (
            UPDATE token_values t SET touched_at = now() WHERE \(sql: RowPlaces.isOf(scope, "t"))
                AND t.ctid = ANY(ARRAY(SELECT old.place FROM old WHERE old.is_held))
        ), unheld AS (
            DELETE FROM token_values t WHERE \(sql: RowPlaces.isOf(scope, "t"))
                AND t.ctid = ANY(ARRAY(SELECT old.place FROM old WHERE NOT old.is_held))
        )
        SELECT count(*) FROM old
        """
    }

    /// Finds and locks, in a page of installations in the order of their hashes, the empty ones that were silent for as
    /// long as events are kept.
    ///
    /// - Parameters:
    ///   - start: the first hash of the page; after the last hash it continues with the first. A page from anywhere
    ///     finds its share, however many silent installations still hold something.
    ///   - limit: the most installations to examine.
    func emptyInstallations(from start: [UInt8], limit: Int) -> SQL {
        """
        WITH page AS MATERIALIZED (
            (SELECT i.installation_hash FROM installations i
                WHERE \(sql: scope.contains("i")) AND i.installation_hash >= \(start)
                ORDER BY i.installation_hash LIMIT \(limit))
            UNION ALL
            (SELECT i.installation_hash FROM installations i
                WHERE \(sql: scope.contains("i")) AND i.installation_hash < \(start)
                ORDER BY i.installation_hash LIMIT \(limit))
            LIMIT \(limit)
        )
        SELECT i.installation_hash FROM page CROSS JOIN LATERAL (
            SELECT * FROM installations own
            WHERE \(sql: scope.contains("own")) AND own.installation_hash = page.installation_hash
                AND own.touched_at <= now() - greatest(\(settings.eventRetention), \(settings.tombstoneRetention))
                AND NOT EXISTS (SELECT FROM installation_tokens r WHERE \(sql: scope.contains("r"))
                    AND r.installation_hash = own.installation_hash)
                AND NOT EXISTS (SELECT FROM activities a WHERE \(sql: scope.contains("a"))
                    AND a.installation_hash = own.installation_hash)
            FOR UPDATE SKIP LOCKED
        ) AS i
        """
    }

    func delete(_ installations: [[UInt8]]) -> [SQL] {
        ["installation_aliases", "installations"].map { table in
            """
            DELETE FROM \(unescaped: table) d WHERE \(sql: RowPlaces.isOf(scope, "d")) AND d.ctid = ANY(ARRAY(
                \(sql: RowPlaces.rows(of: installations, in: table, "its.ctid", scope))
            ))
            """
        }
    }
}
