import PostgresDriver
import RegistryCore

struct ResolveRequest: Sendable {
    let alias: Alias
    let limit: Int
    let scope: Scope

    /// Lookups of one scope and page size share a statement.
    static func batcher(_ units: UnitsOfWork) -> Batcher<ResolveRequest, AliasRows> {
        Batcher(
            // At most half the connections, so that slow reads leave the rest to writes.
            workers: 1...max(1, min(8, units.pool.maximumConnections / 2)),
            largestBatch: 64,
            timeout: units.pool.requestTimeout,
            metrics: units.metrics.batches[.resolutions],
            mayShare: { $0.scope.id == $1.scope.id && $0.limit == $1.limit },
            perform: { worker in
                try await units.serve(worker, .resolutions, .idempotentRead) { session, requests in
                    let (limit, scope) = (requests[0].limit, requests[0].scope)
                    guard requests.count > 1 else {
                        return [
                            .success(try findActivities(requests[0].alias, after: 0, limit: limit, in: scope, session))
                        ]
                    }
                    let most = requests.count * (limit + 1)
                    return try findActivities(requests.map(\.alias), limit: limit, most: most, in: scope, session).rows
                        .map { .success($0) }
                }
            }
        )
    }

    static func findActivities(
        _ alias: Alias,
        after key: Int64,
        limit: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> AliasRows {
        let results = try session.pipeline([
            Query.readPage(alias.values(in: scope) + ["after": key, "limit": limit + 1]),
            BroadcastChannel.find([alias], in: scope),
        ])
        var found = AliasRows(limit: limit)
        for row in try results[0].decode(AliasRow.self) { found.add(row) }
        found.channels = try results[1].decode(BroadcastChannel.self)
        return found
    }

    /// - Parameters:
    ///   - limit: maximum activities per alias.
    ///   - most: maximum rows in total.
    /// - Returns: the rows of each alias, and the number of leading aliases not cut by `most`.
    static func findActivities(
        _ aliases: [Alias],
        limit: Int,
        most: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> (rows: [AliasRows], complete: Int) {
        let results = try session.pipeline([
            Query("resolve.read-pages")([
                "kinds": aliases.map(\.kind), "values": aliases.map(\.value), "scope": scope.id, "limit": limit + 1,
                "most": most + 1,
            ]),
            BroadcastChannel.find(aliases, in: scope),
        ])
        var rows = [AliasRows](repeating: AliasRows(limit: limit), count: aliases.count)
        for (position, row) in try results[0].decode({ (try $0["position"] as Int, try AliasRow(row: $0)) }) {
            rows[position - 1].add(row)
        }
        let last = results[0].count > most ? rows.lastIndex { $0.last != nil } : nil
        for (position, channel) in try results[1].decode({ (try $0["position"] as Int, try BroadcastChannel(row: $0)) })
        {
            rows[position - 1].channels.append(channel)
        }
        return (rows, complete: last ?? aliases.count)
    }
}

extension Query { static let readPage: Query = "resolve.read-page" }
