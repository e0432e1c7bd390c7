import Foundation
import PostgresDriver
import RegistryCore

package struct ListedChannel: Sendable, Hashable {
    package let alias: Alias
    package let channel: BroadcastChannel
    package let updatedAt: Date
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
        return try await read { session in
            try session.run("audit.list-channels", values).decode { row in
                let alias = Alias(checkedKind: try row["kind"], value: try row["value"])
                let channel = try BroadcastChannel(row: row)
                return ListedChannel(alias: alias, channel: channel, updatedAt: try row["updated_at"])
            }
        }
    }

    package func channelCounts(in scope: Scope) async throws -> (aliases: Int, channels: Int) {
        try await read { session in
            try session.run("audit.count-channels", ["scope": scope.id])
                .decode { (aliases: try $0["aliases"], channels: try $0["channels"]) }[0]
        }
    }
}
