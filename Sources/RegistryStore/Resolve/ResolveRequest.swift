import PostgresDriver
import RegistryCore

struct ResolveRequest: Sendable {
    let alias: Alias
    let limit: Int
    let scope: Scope

    /// Lookups of the same app and page size share a statement.
    static func batcher(_ units: UnitsOfWork) -> Batcher<ResolveRequest, AliasRows> {
        Batcher(
            // Half of the connections at most, so that slow reads leave the others for writes.
            lanes: 2...max(2, min(8, units.pool.maximumConnections / 2)),
            largestBatch: 64,
            capacity: 10_000,
            timeout: units.pool.requestTimeout,
            measures: units.measures.batches[.resolutions],
            select: { candidates in
                guard let first = candidates.first else { return [] }
                return candidates.map { $0.scope.id == first.scope.id && $0.limit == first.limit }
            },
            perform: { lane in
                try await units.serve(lane, .resolutions, .idempotentRead) {
                    session,
                    requests in
                    let (limit, scope) = (requests[0].limit, requests[0].scope)
                    guard requests.count > 1 else {
                        let input = ResolveTemplates.Input(
                            aliases: [requests[0].alias],
                            limit: limit + 1,
                            limitOfAll: limit + 1,
                            scope: scope
                        )
                        return [.success(try find(ResolveTemplates.one.statements(of: input), limit: limit, session))]
                    }
                    let most = requests.count * (limit + 1)
                    return try find(requests.map(\.alias), limit: limit, most: most, in: scope, session).rows
                        .map { .success($0) }
                }
            }
        )
    }

    static func find(
        _ alias: Alias,
        after key: Int64,
        limit: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> AliasRows {
        try find(
            [
                ResolveStatements.page(of: alias, after: key, limit: limit + 1, in: scope),
                ResolveStatements.channels(of: [alias], in: scope),
            ],
            limit: limit,
            session
        )
    }

    private static func find(
        _ statements: [SQL],
        limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> AliasRows {
        let results = try session.pipeline(statements)
        var found = AliasRows(limit: limit)
        for row in try results[0].decode(AliasRow.columns) { found.add(row) }
        found.channels = try results[1].byPosition(of: 1, BroadcastChannel.positioned)[0]
        return found
    }

    /// The first rows of each of many aliases.
    ///
    /// - Parameters:
    ///   - limit: the most activities of each alias.
    ///   - most: the most rows of all aliases together.
    /// - Returns: the rows of each alias, and the number of leading aliases that `most` did not cut.
    static func find(
        _ aliases: [Alias],
        limit: Int,
        most: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> (rows: [AliasRows], complete: Int) {
        let input = ResolveTemplates.Input(aliases: aliases, limit: limit + 1, limitOfAll: most + 1, scope: scope)
        let results = try session.pipeline(ResolveTemplates.many.statements(of: input))
        var rows = [AliasRows](repeating: AliasRows(limit: limit), count: aliases.count)
        for (position, row) in try results[0].decode(AliasRow.positioned) { rows[position - 1].add(row) }
        let last = results[0].count > most ? rows.lastIndex { $0.last != nil } : nil
        for (position, channel) in try results[1].decode(BroadcastChannel.positioned) {
            rows[position - 1].channels.append(channel)
        }
        return (rows, complete: last ?? aliases.count)
    }
}

/// A value and its position in the request, counted from 1.
typealias Positioned<Value> = (position: Int, value: Value)

extension Columns where Value: Sendable {
    var positioned: Columns<Positioned<Value>> {
        Columns<Positioned<Value>>(sql: "q.position, \(sql)") { row in try (row.next(), row.next(self)) }
    }
}

extension PostgresResult {
    func byPosition<Value: Sendable>(of count: Int, _ columns: Columns<Positioned<Value>>) throws -> [[Value]] {
        var found = [[Value]](repeating: [], count: count)
        for (position, value) in try decode(columns) { found[position - 1].append(value) }
        return found
    }
}
