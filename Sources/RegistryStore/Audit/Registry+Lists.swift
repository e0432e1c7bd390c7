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
        try await read { try $0.execute(OverviewStatements(scope: scope).isUsed)[0].decode(Bool.self) }
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
        return try await read { try $0.execute(statement).decode(ListedInstallation.columns) }
    }

    /// Installations that seem to be cloned (A, B, A), among those that were heard of lately.
    public func clonedInstallations(limit: Int, in scope: Scope) async throws -> [InstallationHash] {
        let statement = OverviewStatements(scope: scope).cloned(limit: limit)
        return try await read { session in
            try session.execute(statement).decode(InstallationHash.self)
        }
    }

    /// Channels in the order of their aliases.
    ///
    /// - Parameter alias: the last one of the page before; nil for the first page.
    public func channels(after alias: Alias? = nil, limit: Int, in scope: Scope) async throws -> [ListedChannel] {
        let position = (alias?.kind ?? "", alias?.value ?? "")
        let statement = OverviewStatements(scope: scope).channels(after: position, limit: limit)
        return try await read { try $0.execute(statement).decode(ListedChannel.columns) }
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
        BroadcastChannel.columns(of: "c"),
        .one("c.updated_at"),
        as: ListedChannel.init
    )
}
