import Foundation
import PostgresDriver
import RegistryCore

/// What an alias names, as far as it was asked for.
public struct ResolvedAlias: Sendable, Hashable {
    public let alias: Alias
    public let activities: [ResolvedActivity]
    /// At most one.
    public let channels: [BroadcastChannel]
    /// More activities bear the alias than were asked for.
    public let isTruncated: Bool
}

extension Registry {
    /// One page of the activities that an alias names, in the order of their immutable numbers.
    ///
    /// - Parameter number: the last number of the page before, 0 for the first page.
    public func activities(
        under alias: Alias,
        after number: Int64 = 0,
        limit: Int,
        in scope: Scope
    ) async throws -> [ResolvedActivity] {
        let statement = ResolveStatements.page(of: alias, after: number, limit: limit, in: scope)
        return try await read { session in try session.execute(statement).rows.map { try ResolvedActivity($0) } }
    }

    /// One page of an alias as ``activities(under:after:limit:in:)`` gives it, and the alias's channels.
    public func page(
        of alias: Alias,
        after number: Int64,
        limit: Int,
        in scope: Scope
    ) async throws -> (activities: [ResolvedActivity], channels: [BroadcastChannel]) {
        let statements = [
            ResolveStatements.page(of: alias, after: number, limit: limit, in: scope),
            ChannelStatements.channels(of: [alias], in: scope),
        ]
        return try await read { session in
            let results = try session.pipeline(statements)
            let activities = try results[0].rows.map { try ResolvedActivity($0) }
            return (activities, try results[1].rows.map { try BroadcastChannel($0, from: 1) })
        }
    }

    /// The activities that many aliases name, in the order asked, at most `limitPerAlias` of each.
    public func resolve(_ aliases: [Alias], limitPerAlias: Int, in scope: Scope) async throws -> [ResolvedAlias] {
        let statements = [
            ResolveStatements.resolve(aliases, limitPerAlias: limitPerAlias + 1, in: scope),
            ChannelStatements.channels(of: aliases, in: scope),
        ]
        let (found, channels) = try await read { session in
            let results = try session.pipeline(statements)
            return (
                try results[0].byPosition(of: aliases.count) { try ResolvedActivity($0, from: 1) },
                try results[1].byPosition(of: aliases.count) { try BroadcastChannel($0, from: 1) }
            )
        }
        return aliases.indices.map { index in
            ResolvedAlias(
                alias: aliases[index],
                activities: Array(found[index].prefix(limitPerAlias)),
                channels: channels[index],
                isTruncated: found[index].count > limitPerAlias
            )
        }
    }

    /// One activity, running or not, or nil when it is not known.
    public func activity(_ id: ActivityID, in scope: Scope) async throws -> ActivityRecord? {
        let statement = ResolveStatements.activity(id, in: scope)
        return try await read { session in try session.execute(statement).rows.first.map { try ActivityRecord($0) } }
    }
}

extension PostgresResult {
    /// What the rows hold, by the position in the request that each begins with, counted from 1.
    fileprivate func byPosition<Value>(of count: Int, _ read: (PostgresRow) throws -> Value) throws -> [[Value]] {
        var found = [[Value]](repeating: [], count: count)
        for row in rows { found[try row.column(0, as: Int.self) - 1].append(try read(row)) }
        return found
    }
}
