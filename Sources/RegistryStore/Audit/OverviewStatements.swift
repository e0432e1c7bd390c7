import Foundation
import PostgresDriver
import RegistryCore

/// The statements behind lists and checks that people look at: few rows of a table, found by an index.
struct OverviewStatements {
    let scope: Scope

    /// Whether there is any activity or installation. The orders are those of indexes, which else the planner would think
    /// the dearer way to a first row.
    var isUsed: SQL {
        """
        SELECT EXISTS (SELECT FROM (SELECT FROM activities a WHERE \(sql: scope.contains("a")) AND a.ended_at IS NULL
                AND a.expiry_recorded_at IS NULL ORDER BY a.expires_at LIMIT 1) AS running)
            OR EXISTS (SELECT FROM (SELECT FROM activities a WHERE \(sql: scope.contains("a"))
                AND (a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL) ORDER BY a.expires_at LIMIT 1) AS over)
            OR EXISTS (SELECT FROM (SELECT FROM installations i WHERE \(sql: scope.contains("i"))
                AND i.touched_at > '-infinity' ORDER BY i.touched_at LIMIT 1) AS heard)
        """
    }

    /// Installations, those heard of last first, after one of the list: its time and its hash.
    func installations(after last: (Date, [UInt8]), limit: Int) -> SQL {
        """
        SELECT \(ListedInstallation.columns)
        FROM (
            SELECT heard.*, \(sql: InstallationStatements.isFlapping("heard", in: scope)) AS flaps FROM installations heard WHERE \(sql: scope.contains("heard")) AND heard.touched_at > '-infinity'
                AND (heard.touched_at, heard.installation_hash) < (\(last.0), \(last.1))
            ORDER BY heard.touched_at DESC, heard.installation_hash DESC LIMIT \(limit)
        ) AS i
        ORDER BY i.touched_at DESC, i.installation_hash DESC
        """
    }

    /// How many installations that flapped are looked at, whether or not they logged out since.
    static let flappedSearched = 1000

    /// Installations that seem to be cloned, those first that showed it last.
    func cloned(limit: Int) -> SQL {
        """
        SELECT i.installation_hash FROM (
            SELECT * FROM installations flapped WHERE \(sql: scope.contains("flapped")) AND flapped.flapped_at IS NOT NULL
            ORDER BY flapped.flapped_at DESC LIMIT \(Self.flappedSearched)
        ) AS i
        WHERE \(sql: InstallationStatements.isFlapping("i", in: scope))
        ORDER BY i.flapped_at DESC LIMIT \(limit)
        """
    }

    /// Channels in the order of their aliases.
    func channels(after alias: (kind: UTF8Text, value: UTF8Text), limit: Int) -> SQL {
        """
        SELECT \(ListedChannel.columns) FROM channels c
        WHERE \(sql: scope.contains("c")) AND (c.kind, c.value) > (\(alias.kind), \(alias.value))
        ORDER BY c.kind, c.value LIMIT \(limit)
        """
    }

    /// How many aliases have a channel, and how many distinct channels those are; the quota bounds both.
    var channelCounts: SQL {
        "SELECT count(*), count(DISTINCT c.channel_id) FROM channels c WHERE \(sql: scope.contains("c"))"
    }
}
