import Foundation
import PostgresDriver
import RegistryCore

package struct ListedInstallation: Sendable, Hashable {
    package let installation: InstallationHash
    /// Nil without a signed-in user.
    package let subject: UTF8Text?
    /// The last request about it, by the server's clock.
    package let touchedAt: Date
    /// The later of its last full state and last log-out.
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
        try await read { try $0.run("audit.is-used", ["scope": scope.id]).decode { try $0["is_used"] }[0] }
    }

    /// Most recently active first.
    ///
    /// - Parameter last: the last installation of the previous page, and its time.
    package func installations(
        after last: (touchedAt: Date, installation: InstallationHash)? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> [ListedInstallation] {
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

extension ListedInstallation: DecodableRow {
    package init(row: NamedRow) throws {
        installation = try row["installation_hash"]
        subject = try row["subject"]
        touchedAt = try row["touched_at"]
        fullStateAt = try row["full_state_at"]
        loggedOutAt = try row["removed_at"]
    }
}

extension ListedChannel: DecodableRow {
    package init(row: NamedRow) throws {
        alias = Alias(checkedKind: try row["kind"], value: try row["value"])
        channel = try BroadcastChannel(row: row)
        updatedAt = try row["updated_at"]
    }
}
