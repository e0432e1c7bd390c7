import Foundation
import PostgresDriver
import RegistryCore

/// The statements behind lists and checks that people look at: few rows of a table, found by an index.
struct OverviewStatements {
    let scope: Scope

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(scope.app.number) \
        AND \(unescaped: row).environment = \(scope.environment.rawValue)::apns_environment
        """
    }

    /// Whether there is any activity or installation. The orders are those of indexes, which else the planner would think
    /// the dearer way to a first row.
    var isUsed: SQL {
        """
        SELECT EXISTS (SELECT FROM (SELECT FROM activities a WHERE \(sql: inScope("a")) AND a.ended_at IS NULL
                AND a.expiry_recorded_at IS NULL ORDER BY a.expires_at LIMIT 1) AS running)
            OR EXISTS (SELECT FROM (SELECT FROM activities a WHERE \(sql: inScope("a"))
                AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL) ORDER BY a.expires_at LIMIT 1) AS over)
            OR EXISTS (SELECT FROM (SELECT FROM installations i WHERE \(sql: inScope("i"))
                ORDER BY i.touched_at LIMIT 1) AS heard)
        """
    }

    /// Installations, those heard of last first, after one of the list: its time and its hash.
    func installations(after last: (Date, [UInt8]), limit: Int) -> SQL {
        """
        SELECT i.installation_hash, i.subject, i.touched_at, i.full_state_at, i.removed_at,
            \(unescaped: InstallationStatements.isFlapping("i"))
        FROM (
            SELECT * FROM installations heard WHERE \(sql: inScope("heard"))
                AND (heard.touched_at, heard.installation_hash) < (\(last.0), \(last.1))
            ORDER BY heard.touched_at DESC, heard.installation_hash DESC LIMIT \(limit)
        ) AS i
        ORDER BY i.touched_at DESC, i.installation_hash DESC
        """
    }

    /// How many of the latest claims are looked at for clones, at two lookups each.
    static let claimsSearched = 3000

    /// Installations that seem to be cloned, among those whose start and device tokens were claimed last: clones go on
    /// claiming. To look through all claims would take as long as there are installations.
    func cloned(limit: Int) -> SQL {
        """
        WITH several AS MATERIALIZED (
            SELECT DISTINCT lately.installation_hash
            FROM (
                SELECT * FROM installation_token_claims c WHERE \(sql: inScope("c"))
                ORDER BY c.last_observed_at DESC LIMIT \(Self.claimsSearched)
            ) AS lately
            CROSS JOIN LATERAL (
                SELECT FROM installation_token_claims o
                WHERE \(sql: inScope("o")) AND o.installation_hash = lately.installation_hash
                    AND o.kind = lately.kind AND o.attributes_type = lately.attributes_type
                    AND o.token_digest <> lately.token_digest LIMIT 1
            ) AS other
        )
        SELECT i.installation_hash FROM several CROSS JOIN LATERAL (
            SELECT * FROM installations of_it
            WHERE \(sql: inScope("of_it")) AND of_it.installation_hash = several.installation_hash LIMIT 1
        ) AS i
        WHERE \(unescaped: InstallationStatements.isFlapping("i")) LIMIT \(limit)
        """
    }

    /// Channels in the order of their aliases.
    func channels(after alias: (kind: String, value: String), limit: Int) -> SQL {
        """
        SELECT c.kind, c.value, c.channel_id, c.message_storage_policy, c.updated_at FROM channels c
        WHERE \(sql: inScope("c")) AND (c.kind, c.value) > (\(alias.kind), \(alias.value))
        ORDER BY c.kind, c.value LIMIT \(limit)
        """
    }

    /// How many aliases have a channel, and how many distinct channels those are; the quota bounds both.
    var channelCounts: SQL {
        "SELECT count(*), count(DISTINCT c.channel_id) FROM channels c WHERE \(sql: inScope("c"))"
    }
}
