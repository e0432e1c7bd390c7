import Foundation
import PostgresDriver
import RegistryCore

/// An installation in a list.
public struct ListedInstallation: Sendable, Hashable {
    /// The hash under which the installation is stored.
    public let installation: InstallationHash
    /// The `sub` of the signed-in user to whom it belongs; nil when it belongs to none.
    public let subject: UTF8Text?
    /// When anything was last heard of it, on the server's clock.
    public let touchedAt: Date
    /// The greatest time of its full states and log-outs; nil when there was none.
    public let fullStateAt: Date?
    /// The greatest time of its log-outs; nil when there was none.
    public let loggedOutAt: Date?
    /// Two devices seem to share its id.
    public let isFlapping: Bool
}

/// The channel of an alias in a list.
public struct ListedChannel: Sendable, Hashable {
    /// The alias that has the channel.
    public let alias: Alias
    /// The channel as it was last set.
    public let channel: BroadcastChannel
    /// Postgres's clock when it was last set.
    public let updatedAt: Date
}

/// How many channels there are.
public struct ChannelCounts: Sendable, Hashable {
    /// Aliases that have one.
    public let aliases: Int
    /// Distinct ones, which APNs counts.
    public let channels: Int
}

extension Registry {
    /// Whether anything was ever registered there.
    public func isUsed(_ scope: Scope) async throws -> Bool {
        try await read { try $0.execute(OverviewStatements(scope: scope).isUsed)[0].column(0, as: Bool.self) }
    }

    /// Installations, those heard of last first.
    ///
    /// - Parameter last: the last one of the page before, and when it was heard of; nil for the first page.
    public func installations(
        after last: (touchedAt: Date, installation: InstallationHash)? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> [ListedInstallation] {
        let position = last.map { ($0.touchedAt, $0.installation.bytes) } ?? (.distantFuture, [])
        let statement = OverviewStatements(scope: scope).installations(after: position, limit: limit)
        return try await read { try $0.execute(statement).rows.map { try ListedInstallation($0) } }
    }

    /// Installations that seem to be cloned (A, B, A), among those that were heard of lately.
    public func clonedInstallations(limit: Int, in scope: Scope) async throws -> [InstallationHash] {
        let statement = OverviewStatements(scope: scope).cloned(limit: limit)
        return try await read { session in
            try session.execute(statement).rows.map { InstallationHash(bytes: try $0.column(0, as: [UInt8].self)) }
        }
    }

    /// Channels in the order of their aliases.
    ///
    /// - Parameter alias: the last one of the page before; nil for the first page.
    public func channels(after alias: Alias? = nil, limit: Int, in scope: Scope) async throws -> [ListedChannel] {
        let position = (alias?.kind ?? "", alias?.value ?? "")
        let statement = OverviewStatements(scope: scope).channels(after: position, limit: limit)
        return try await read { try $0.execute(statement).rows.map { try ListedChannel($0) } }
    }

    /// How many channels count against Apple's quota.
    public func channelCounts(in scope: Scope) async throws -> ChannelCounts {
        try await read { session in
            let (aliases, channels) = try session.execute(OverviewStatements(scope: scope).channelCounts)[0]
                .decode(Int.self, Int.self)
            return ChannelCounts(aliases: aliases, channels: channels)
        }
    }
}

extension ListedInstallation {
    /// Reads the columns of ``OverviewStatements/installations(after:limit:)``.
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            installation: InstallationHash(bytes: try row.column(0, as: [UInt8].self)),
            subject: try row.column(1, as: UTF8Text?.self),
            touchedAt: try row.column(2, as: Date.self),
            fullStateAt: try row.column(3, as: Date?.self),
            loggedOutAt: try row.column(4, as: Date?.self),
            isFlapping: try row.column(5, as: Bool.self)
        )
    }
}

extension ListedChannel {
    /// Reads the columns of ``OverviewStatements/channels(after:limit:)``.
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            alias: Alias(
                checkedKind: try row.column(0, as: UTF8Text.self),
                value: try row.column(1, as: UTF8Text.self)
            ),
            channel: try BroadcastChannel(row, from: 2),
            updatedAt: try row.column(4, as: Date.self)
        )
    }
}
