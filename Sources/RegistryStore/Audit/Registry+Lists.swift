import Foundation
import PostgresDriver
import RegistryCore

/// An installation in a list.
package struct ListedInstallation: Sendable, Hashable {
    /// The hash under which the installation is stored.
    package let installation: InstallationHash
    /// The `sub` of the signed-in user to whom it belongs; nil when it belongs to none.
    package let subject: UTF8Text?
    /// When anything was last heard of it, on the server's clock.
    package let touchedAt: Date
    /// The greatest time of its full states and log-outs; nil when there was none.
    package let fullStateAt: Date?
    /// The greatest time of its log-outs; nil when there was none.
    package let loggedOutAt: Date?
    /// Two devices seem to share its id.
    package let isFlapping: Bool
}

/// The channel of an alias in a list.
package struct ListedChannel: Sendable, Hashable {
    /// The alias that has the channel.
    package let alias: Alias
    /// The channel as it was last set.
    package let channel: BroadcastChannel
    /// Postgres's clock when it was last set.
    package let updatedAt: Date
}

/// How many channels there are.
package struct ChannelCounts: Sendable, Hashable {
    /// Aliases that have one.
    package let aliases: Int
    /// Distinct ones, which APNs counts.
    package let channels: Int
}

extension Registry {
    /// Whether anything was ever registered there.
    package func isUsed(_ scope: Scope) async throws -> Bool {
        try await read { try $0.execute(OverviewStatements(scope: scope).isUsed)[0].decode(Bool.self) }
    }

    /// Installations, those heard of last first.
    ///
    /// - Parameter last: the last one of the page before, and when it was heard of; nil for the first page.
    package func installations(
        after last: (touchedAt: Date, installation: InstallationHash)? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> [ListedInstallation] {
        let position = last.map { ($0.touchedAt, $0.installation.bytes) } ?? (.distantFuture, [])
        let statement = OverviewStatements(scope: scope).installations(after: position, limit: limit)
        return try await read { try $0.execute(statement).decode(ListedInstallation.columns) }
    }

    /// Installations that seem to be cloned (A, B, A), among those that were heard of lately.
    package func clonedInstallations(limit: Int, in scope: Scope) async throws -> [InstallationHash] {
        let statement = OverviewStatements(scope: scope).cloned(limit: limit)
        return try await read { session in
            try session.execute(statement).decode(InstallationHash.self)
        }
    }

    /// Channels in the order of their aliases.
    ///
    /// - Parameter alias: the last one of the page before; nil for the first page.
    package func channels(after alias: Alias? = nil, limit: Int, in scope: Scope) async throws -> [ListedChannel] {
        let position = (alias?.kind ?? "", alias?.value ?? "")
        let statement = OverviewStatements(scope: scope).channels(after: position, limit: limit)
        return try await read { try $0.execute(statement).decode(ListedChannel.columns) }
    }

    /// How many channels count against Apple's quota.
    package func channelCounts(in scope: Scope) async throws -> ChannelCounts {
        try await read { session in
            let (aliases, channels) = try session.execute(OverviewStatements(scope: scope).channelCounts)[0]
                .decode(Int.self, Int.self)
            return ChannelCounts(aliases: aliases, channels: channels)
        }
    }
}

extension ListedInstallation {
    /// The columns of the row called `i`.
    static let columns = Columns(
        .one("i.installation_hash"),
        .one("i.subject"),
        .one("i.touched_at"),
        .one("i.full_state_at"),
        .one("i.removed_at"),
        .one("i.flaps"),
        as: ListedInstallation.init
    )
}

extension ListedChannel {
    /// The columns of the row called `c`.
    static let columns = Columns(
        Columns(.one("c.kind"), .one("c.value"), as: Alias.init(checkedKind:value:)),
        BroadcastChannel.columns,
        .one("c.updated_at"),
        as: ListedChannel.init
    )
}

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
