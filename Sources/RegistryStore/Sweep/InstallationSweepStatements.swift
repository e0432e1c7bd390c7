import PostgresDriver
import RegistryCore

/// The statements of the sweep about what installations held: deleted tokens, values that were replaced, and
/// installations of which nothing is left.
struct InstallationSweepStatements {
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var settings: AppSettings { scope.app.settings }

    /// Deletes tombstones of tokens: what was observed before is not coming any more.
    func deleteRemovedTokens(limit: Int) -> SQL {
        """
        DELETE FROM installation_tokens r WHERE \(sql: RowPlaces.isOf(app, "r")) AND r.ctid = ANY(ARRAY(
            SELECT s.ctid FROM installation_tokens s
            WHERE \(sql: scope.contains("s")) AND s.token IS NULL AND s.touched_at <= now() - \(settings.tombstoneRetention)
            ORDER BY s.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        """
    }

    /// Deletes claims too old to tell of a cloned installation, and gives their values' digests.
    func deleteOldClaims(limit: Int) -> SQL {
        """
        DELETE FROM installation_token_claims c WHERE \(sql: RowPlaces.isOf(app, "c")) AND c.ctid = ANY(ARRAY(
            SELECT o.ctid FROM installation_token_claims o
            WHERE \(sql: scope.contains("o")) AND o.last_observed_at > '-infinity'
                AND o.last_observed_at <= now() - \(settings.eventRetention)
            ORDER BY o.last_observed_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        RETURNING c.token_digest
        """
    }

    /// Deletes those values that nobody holds any more and nobody touched since.
    ///
    /// The time is asked of the locked row, so a value that is registered at this moment stays.
    func deleteUnheldValues(_ digests: [[UInt8]]) -> SQL {
        """
        DELETE FROM token_values t WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(ARRAY(
            SELECT v.token_digest FROM token_values v
            WHERE \(sql: scope.contains("v")) AND v.token_digest = ANY(\(digests))
                AND greatest(v.touched_at, v.dead_at) <= now() - \(settings.tombstoneRetention)
                AND NOT EXISTS (SELECT FROM installation_tokens r WHERE \(sql: scope.contains("r"))
                    AND NOT r.has_one_owner AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
                AND NOT EXISTS (SELECT FROM installation_tokens r WHERE \(sql: scope.contains("r"))
                    AND r.installation_hash = v.installation_hash AND r.kind = v.installation_kind
                    AND r.token_digest = v.token_digest AND r.token IS NOT NULL)
                AND NOT EXISTS (SELECT FROM activities a WHERE \(sql: scope.contains("a")) AND a.activity_id = v.activity_id)
            ORDER BY v.token_digest FOR UPDATE SKIP LOCKED
        ))
        """
    }

    /// Finds and locks installations that nobody has heard of for as long as events are kept, and that hold nothing.
    func emptyInstallations(limit: Int) -> SQL {
        """
        SELECT i.installation_hash FROM installations i
        WHERE \(sql: scope.contains("i")) AND i.touched_at > '-infinity'
            AND i.touched_at <= now() - greatest(\(settings.eventRetention), \(settings.tombstoneRetention))
            AND NOT EXISTS (SELECT FROM installation_tokens r WHERE \(sql: scope.contains("r"))
                AND r.installation_hash = i.installation_hash)
            AND NOT EXISTS (SELECT FROM activities a WHERE \(sql: scope.contains("a"))
                AND a.installation_hash = i.installation_hash)
        ORDER BY i.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Deletes installations with the rows by which they are found.
    func delete(_ installations: [[UInt8]]) -> [SQL] {
        ["installation_aliases", "installations"].map { table in
            """
            DELETE FROM \(unescaped: table) d WHERE \(sql: RowPlaces.isOf(app, "d")) AND d.ctid = ANY(ARRAY(
                \(sql: RowPlaces.rows(of: installations, in: table, "its.ctid", scope))
            ))
            """
        }
    }
}
