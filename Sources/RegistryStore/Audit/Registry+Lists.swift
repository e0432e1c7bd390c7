import Foundation
import PostgresDriver
import RegistryCore

package struct ListedInstallation: Sendable, Hashable {
    package let installation: InstallationHash
    /// Nil if it belongs to no user.
    package let subject: UTF8Text?
    /// When anything was last heard of it, on the server's clock.
    package let touchedAt: Date
    /// The greatest time of its full states and log-outs; nil when there was none.
    package let fullStateAt: Date?
    package let loggedOutAt: Date?
}

package struct ListedChannel: Sendable, Hashable {
    package let alias: Alias
    package let channel: BroadcastChannel
    package let updatedAt: Date
}

package struct ChannelCounts: Sendable, Hashable {
    package let aliases: Int
    package let channels: Int
}

extension Registry {
    package func isUsed(_ scope: Scope) async throws -> Bool {
        try await read { try $0.execute(OverviewStatements(scope: scope).isUsed)[0].decode(Bool.self) }
    }

    /// Most recently active first.
    ///
    /// - Parameter last: the last one of the previous page, and its time; nil for the first page.
    package func installations(
        after last: (touchedAt: Date, installation: InstallationHash)? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> [ListedInstallation] {
        let position = last.map { ($0.touchedAt, $0.installation.bytes) } ?? (.distantFuture, [])
        let statement = OverviewStatements(scope: scope).installations(after: position, limit: limit)
        return try await read { try $0.execute(statement).decode(ListedInstallation.columns) }
    }

    /// In the order of their aliases.
    ///
    /// - Parameter alias: the last one of the previous page; nil for the first page.
    package func channels(after alias: Alias? = nil, limit: Int, in scope: Scope) async throws -> [ListedChannel] {
        let position = (alias?.kind ?? "", alias?.value ?? "")
        let statement = OverviewStatements(scope: scope).channels(after: position, limit: limit)
        return try await read { try $0.execute(statement).decode(ListedChannel.columns) }
    }

    package func channelCounts(in scope: Scope) async throws -> ChannelCounts {
        try await read { session in
            let (aliases, channels) = try session.execute(OverviewStatements(scope: scope).channelCounts)[0]
                .decode(Int.self, Int.self)
            return ChannelCounts(aliases: aliases, channels: channels)
        }
    }
}

extension ListedInstallation {
    static let columns = Columns(
        .one("i.installation_hash"),
        .one("i.subject"),
        .one("i.touched_at"),
        .one("i.full_state_at"),
        .one("i.removed_at"),
        as: ListedInstallation.init
    )
}

extension ListedChannel {
    static let columns = Columns(
        Columns(.one("c.kind"), .one("c.value"), as: Alias.init(checkedKind:value:)),
        BroadcastChannel.columns,
        .one("c.updated_at"),
        as: ListedChannel.init
    )
}

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

    /// Most recently active first, after a given one: its time and its hash.
    func installations(after last: (Date, [UInt8]), limit: Int) -> SQL {
        """
        SELECT \(ListedInstallation.columns) FROM installations i
        WHERE \(sql: scope.contains("i")) AND i.touched_at > '-infinity'
            AND (i.touched_at, i.installation_hash) < (\(last.0), \(last.1))
        ORDER BY i.touched_at DESC, i.installation_hash DESC LIMIT \(limit)
        """
    }

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
