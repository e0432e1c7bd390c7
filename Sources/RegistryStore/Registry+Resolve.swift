import Foundation
import PostgresDriver
import RegistryCore

/// What an alias names, as far as it was asked for.
public struct ResolvedAlias: Sendable, Hashable {
    public let alias: Alias
    public let activities: [ResolvedActivity]
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

    /// The activities that many aliases name, in the order asked, at most `limitPerAlias` of each.
    public func resolve(_ aliases: [Alias], limitPerAlias: Int, in scope: Scope) async throws -> [ResolvedAlias] {
        let statement = ResolveStatements.resolve(aliases, limitPerAlias: limitPerAlias + 1, in: scope)
        let found = try await read { session in
            var found = [[ResolvedActivity]](repeating: [], count: aliases.count)
            for row in try session.execute(statement).rows {
                found[try row.column(0, as: Int.self) - 1].append(try ResolvedActivity(row, from: 1))
            }
            return found
        }
        return zip(aliases, found).map { alias, activities in
            ResolvedAlias(
                alias: alias,
                activities: Array(activities.prefix(limitPerAlias)),
                isTruncated: activities.count > limitPerAlias
            )
        }
    }

    /// One activity, running or not, or nil when it is not known.
    public func activity(_ id: ActivityID, in scope: Scope) async throws -> ActivityRecord? {
        let statement = ResolveStatements.activity(id, in: scope)
        return try await read { session in try session.execute(statement).rows.first.map { try ActivityRecord($0) } }
    }
}
