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
        if number == 0, limit <= ResolveRequest.largestPage {
            return try await resolutions.submit(ResolveRequest(alias: alias, limit: limit, scope: scope))
        }
        let statement = ResolveStatements.page(of: alias, after: number, limit: limit, in: scope)
        return try await read { session in try session.execute(statement).rows.map { try ResolvedActivity($0) } }
    }

    /// The activities that many aliases name, in the order asked, at most `limitPerAlias` of each.
    public func resolve(_ aliases: [Alias], limitPerAlias: Int, in scope: Scope) async throws -> [ResolvedAlias] {
        let found = try await read { try ResolveRequest.find(aliases, limit: limitPerAlias + 1, in: scope, $0) }
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

/// The first page of one alias.
struct ResolveRequest: Sendable {
    let alias: Alias
    let limit: Int
    let scope: Scope

    /// Larger pages are those of streams, and would keep others waiting.
    static let largestPage = 1001

    /// A lookup of one alias shares its statement with others of the same app and page size.
    static func batcher(_ units: UnitsOfWork, patience: Duration) -> Batcher<ResolveRequest, [ResolvedActivity]> {
        Batcher(
            lanes: 2,
            largestBatch: 64,
            capacity: 10_000,
            patience: patience,
            select: { candidates in
                guard let first = candidates.first else { return [] }
                return candidates.map { $0.scope.sharesStatements(with: first.scope) && $0.limit == first.limit }
            },
            perform: { requests in
                let (limit, scope) = (requests[0].limit, requests[0].scope)
                return try await units.read { session in
                    guard requests.count > 1 else {
                        let statement = ResolveStatements.page(of: requests[0].alias, after: 0, limit: limit, in: scope)
                        return [.success(try session.execute(statement).rows.map { try ResolvedActivity($0) })]
                    }
                    return try find(requests.map(\.alias), limit: limit, in: scope, session).map { .success($0) }
                }
            }
        )
    }

    /// The first activities of each of many aliases.
    static func find(
        _ aliases: [Alias],
        limit: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> [[ResolvedActivity]] {
        var found = [[ResolvedActivity]](repeating: [], count: aliases.count)
        for row in try session.execute(ResolveStatements.resolve(aliases, limitPerAlias: limit, in: scope)).rows {
            found[try row.column(0, as: Int.self) - 1].append(try ResolvedActivity(row, from: 1))
        }
        return found
    }
}
