import Foundation
import PostgresDriver
import RegistryCore

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
        let hasActivity = try await read { session in
            let range = NumberRange.find(of: .update, after: 0, size: 1, in: scope)
            return try session.execute(range).decode(NumberRange.self)[0].last != nil
        }
        if hasActivity { return true }
        return try await !installations(limit: 1, in: scope).isEmpty
    }

    /// Most recently active first, without tokens.
    ///
    /// - Parameter last: the last installation of the previous page, and its time.
    package func installations(
        after last: (touchedAt: Date, installation: InstallationHash)? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> [InstallationRecord] {
        let values: QueryValues = [
            "scope": scope.id, "touched_at": last?.touchedAt ?? .distantFuture,
            "installation": last?.installation.bytes ?? [], "limit": limit,
        ]
        return try await read { try $0.run("audit.list-installations", values).decode() }
    }

    /// In the order of their aliases.
    ///
    /// - Parameter alias: the last alias of the previous page.
    package func channels(after alias: Alias? = nil, limit: Int, in scope: Scope) async throws -> [ListedChannel] {
        let values: QueryValues = [
            "scope": scope.id, "kind": alias?.kind ?? "", "value": alias?.value ?? "", "limit": limit,
        ]
        return try await read { try $0.run("audit.list-channels", values).decode() }
    }

    package func channelCounts(in scope: Scope) async throws -> ChannelCounts {
        try await read { session in
            try session.run("audit.count-channels", ["scope": scope.id]).decode { row in
                ChannelCounts(aliases: try row["aliases"], channels: try row["channels"])
            }[0]
        }
    }
}

extension ListedChannel: DecodableRow {
    package init(row: NamedRow) throws {
        alias = Alias(checkedKind: try row["kind"], value: try row["value"])
        channel = try BroadcastChannel(row: row)
        updatedAt = try row["updated_at"]
    }
}
