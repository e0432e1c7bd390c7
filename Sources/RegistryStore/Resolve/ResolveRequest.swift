import PostgresDriver
import RegistryCore

/// One page of what an alias names.
public struct AliasPage: Sendable, Hashable {
    /// The activities with a token that may be handed out, in the order of their internal numbers.
    public let activities: [ResolvedActivity]
    /// The alias's channel; at most one.
    public let channels: [BroadcastChannel]
    /// The number behind which there may be more; nil when these are the last.
    public let next: Int64?

    /// Makes a page of its parts.
    public init(activities: [ResolvedActivity], channels: [BroadcastChannel], next: Int64?) {
        (self.activities, self.channels, self.next) = (activities, channels, next)
    }
}

/// The rows of an alias that were looked at for a page, and its channel.
struct AliasRows: Sendable {
    private(set) var activities: [ResolvedActivity] = []
    var channels: [BroadcastChannel] = []
    /// The greatest number of the rows.
    private(set) var last: Int64?
    /// How many activities the page may have. One row more, if there is one, tells that there is another page.
    private let limit: Int
    private var count = 0
    /// Whether there are others.
    private var isCut: Bool

    init(limit: Int) { (self.limit, isCut) = (limit, false) }

    /// So many of the rows are withheld that others have to be looked at to fill the page.
    var isShort: Bool { isCut && activities.count <= limit }

    /// Adds a row, in any order of those of one look.
    mutating func add(_ row: AliasRow) {
        if let activity = row.activity { activities.append(activity) }
        last = max(last ?? row.number, row.number)
        count += 1
        isCut = count > limit
    }

    /// Adds the rows of another look, behind the last one.
    mutating func add(_ rows: [AliasRow], isEnd: Bool) {
        for row in rows { add(row) }
        isCut = !isEnd
    }

    var page: AliasPage {
        let found = activities.count > 1 ? activities.sorted { $0.number < $1.number } : activities
        guard found.count > limit else {
            return AliasPage(activities: found, channels: channels, next: isCut ? last : nil)
        }
        let first = Array(found.prefix(limit))
        return AliasPage(activities: first, channels: channels, next: first.last?.number ?? last)
    }
}

/// The first page of one alias.
struct ResolveRequest: Sendable {
    let alias: Alias
    let limit: Int
    let scope: Scope

    /// A lookup of one alias shares its statement with others of the same app and page size.
    static func batcher(_ units: UnitsOfWork) -> Batcher<ResolveRequest, AliasRows> {
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

    /// A page of one alias.
    static func find(
        _ alias: Alias,
        after number: Int64,
        limit: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> AliasRows {
        try find(
            [
                ResolveStatements.page(of: alias, after: number, limit: limit + 1, in: scope),
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
    ///   - limit: how many activities the page of each may have.
    ///   - most: how many rows of all aliases together.
    /// - Returns: the rows of each alias, and how many aliases, from the first on, `most` did not cut.
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
