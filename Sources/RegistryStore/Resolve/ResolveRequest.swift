import PostgresDriver
import RegistryCore

/// One page of what an alias names.
public struct AliasPage: Sendable, Hashable {
    /// The activities with a token that may be handed out, in the order of their internal numbers.
    public let activities: [ResolvedActivity]
    /// The alias's channel; at most one.
    public let channels: [BroadcastChannel]
}

/// The first page of one alias.
struct ResolveRequest: Sendable {
    let alias: Alias
    let limit: Int
    let scope: Scope

    /// A lookup of one alias shares its statement with others of the same app and page size.
    static func batcher(_ units: UnitsOfWork) -> Batcher<ResolveRequest, AliasPage> {
        Batcher(
            // Half of the connections at most, so that slow reads leave the others to writes.
            lanes: 2...max(2, min(8, units.pool.maximumConnections / 2)),
            largestBatch: 64,
            capacity: 10_000,
            timeout: units.pool.requestTimeout,
            measures: units.measures.batches[.resolutions],
            select: { candidates in
                guard let first = candidates.first else { return [] }
                return candidates.map { $0.scope.sharesStatements(with: first.scope) && $0.limit == first.limit }
            },
            perform: { lane in
                try await units.serve(lane, .resolutions, .idempotentRead) {
                    session,
                    requests in
                    let (limit, scope) = (requests[0].limit, requests[0].scope)
                    guard requests.count > 1 else {
                        let input = ResolveTemplates.Input(
                            aliases: [requests[0].alias],
                            limit: limit,
                            limitOfAll: limit,
                            scope: scope
                        )
                        return [.success(try find(ResolveTemplates.one.statements(of: input), session))]
                    }
                    let most = requests.count * limit
                    return try find(requests.map(\.alias), limit: limit, most: most, in: scope, session).pages
                        .map { .success($0) }
                }
            }
        )
    }

    /// A page of one alias.
    static func find(
        _ alias: Alias,
        after number: Int64,
        limit: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> AliasPage {
        try find(
            [
                ResolveStatements.page(of: alias, after: number, limit: limit, in: scope),
                ResolveStatements.channels(of: [alias], in: scope),
            ],
            session
        )
    }

    private static func find(_ statements: [SQL], _ session: borrowing PostgresSession) throws -> AliasPage {
        let results = try session.pipeline(statements)
        return AliasPage(
            activities: try results[0].decode(ResolvedActivity.columns),
            channels: try results[1].byPosition(of: 1, BroadcastChannel.positioned)[0]
        )
    }

    /// The first activities of each of many aliases.
    ///
    /// - Parameter most: how many of all aliases together.
    /// - Returns: a page of each alias, and how many aliases, from the first on, `most` did not cut.
    static func find(
        _ aliases: [Alias],
        limit: Int,
        most: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> (pages: [AliasPage], complete: Int) {
        let input = ResolveTemplates.Input(aliases: aliases, limit: limit, limitOfAll: most + 1, scope: scope)
        let results = try session.pipeline(ResolveTemplates.many.statements(of: input))
        var activities = try results[0].byPosition(of: aliases.count, ResolvedActivity.positioned)
        let last = results[0].count > most ? activities.lastIndex { !$0.isEmpty } : nil
        for index in activities.indices { activities[index].sort { $0.number < $1.number } }
        let channels = try results[1].byPosition(of: aliases.count, BroadcastChannel.positioned)
        return (
            zip(activities, channels).map { AliasPage(activities: $0, channels: $1) },
            complete: last ?? aliases.count
        )
    }
}

/// A value, and the position in the request that it belongs to, counted from 1.
typealias Positioned<Value> = (position: Int, value: Value)

extension Columns where Value: Sendable {
    /// The columns behind the position of a request `q`.
    var positioned: Columns<Positioned<Value>> {
        Columns<Positioned<Value>>(sql: "q.position, \(sql)") { row in try (row.next(), row.next(self)) }
    }
}

extension PostgresResult {
    /// The values of the rows, by their positions in the request.
    func byPosition<Value: Sendable>(of count: Int, _ columns: Columns<Positioned<Value>>) throws -> [[Value]] {
        var found = [[Value]](repeating: [], count: count)
        for (position, value) in try decode(columns) { found[position - 1].append(value) }
        return found
    }
}
