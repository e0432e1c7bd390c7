import PostgresDriver
import RegistryCore

/// The statements of the sweep about what installations held: deleted tokens, values that were replaced, and
/// installations of which nothing is left.
struct InstallationSweepStatements {
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }
    private var settings: AppSettings { scope.app.settings }

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(environment)::apns_environment
        """
    }

    /// Deletes tombstones of start or device tokens: what was observed before is not coming any more.
    func deleteRemovedTokens(from slot: String, key: String, limit: Int) -> SQL {
        """
        DELETE FROM \(unescaped: slot) r WHERE \(sql: inScope("r"))
            AND (r.installation_hash, r.\(unescaped: key)) IN (
                SELECT s.installation_hash, s.\(unescaped: key) FROM \(unescaped: slot) s
                WHERE \(sql: inScope("s")) AND s.token IS NULL AND s.touched_at <= now() - \(settings.tombstoneRetention)
                ORDER BY s.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
        """
    }

    /// Deletes claims too old to tell of a cloned installation, and gives their values' digests.
    func deleteOldClaims(limit: Int) -> SQL {
        """
        DELETE FROM installation_token_claims c WHERE \(sql: inScope("c"))
            AND (c.installation_hash, c.kind, c.attributes_type, c.token_digest) IN (
                SELECT o.installation_hash, o.kind, o.attributes_type, o.token_digest FROM installation_token_claims o
                WHERE \(sql: inScope("o")) AND o.last_observed_at <= now() - \(settings.eventRetention)
                ORDER BY o.last_observed_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
        RETURNING c.token_digest
        """
    }

    /// Deletes those values that nobody holds any more and nobody touched since.
    ///
    /// The time is asked of the locked row, so a value that is registered at this moment stays.
    func deleteUnheldValues(_ digests: [[UInt8]]) -> SQL {
        """
        DELETE FROM token_values t WHERE \(sql: inScope("t")) AND t.token_digest = ANY(ARRAY(
            SELECT v.token_digest FROM token_values v
            WHERE \(sql: inScope("v")) AND v.token_digest = ANY(\(digests))
                AND greatest(v.touched_at, v.dead_at) <= now() - \(settings.tombstoneRetention)
                AND NOT EXISTS (SELECT FROM start_tokens s WHERE \(sql: inScope("s"))
                    AND s.token_digest = v.token_digest AND s.token IS NOT NULL)
                AND NOT EXISTS (SELECT FROM device_tokens d WHERE \(sql: inScope("d"))
                    AND d.installation_hash = v.installation_hash AND d.kind = v.installation_kind
                    AND d.token_digest = v.token_digest AND d.token IS NOT NULL)
                AND NOT EXISTS (SELECT FROM activities a WHERE \(sql: inScope("a")) AND a.activity_id = v.activity_id)
            ORDER BY v.token_digest FOR UPDATE SKIP LOCKED
        ))
        """
    }

    /// Finds and locks installations that nobody has heard of for as long as events are kept, and that hold nothing.
    func emptyInstallations(limit: Int) -> SQL {
        """
        SELECT i.installation_hash FROM installations i
        WHERE \(sql: inScope("i")) AND i.touched_at <= now() - greatest(\(settings.eventRetention), \(settings.tombstoneRetention))
            AND NOT EXISTS (SELECT FROM start_tokens s WHERE \(sql: inScope("s"))
                AND s.installation_hash = i.installation_hash)
            AND NOT EXISTS (SELECT FROM device_tokens d WHERE \(sql: inScope("d"))
                AND d.installation_hash = i.installation_hash)
            AND NOT EXISTS (SELECT FROM activities a WHERE \(sql: inScope("a"))
                AND a.installation_hash = i.installation_hash)
        ORDER BY i.touched_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Deletes installations with the rows by which they are found.
    func delete(_ installations: [[UInt8]]) -> [SQL] {
        ["installation_aliases", "installations"].map { table in
            """
            DELETE FROM \(unescaped: table) r WHERE \(sql: inScope("r")) AND r.installation_hash = ANY(\(installations))
            """
        }
    }
}
