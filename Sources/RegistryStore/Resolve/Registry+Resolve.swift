import Foundation
import PostgresDriver
import RegistryCore

/// The activities and channels that an alias names, as far as they were asked for.
public struct ResolvedAlias: Sendable, Hashable {
    /// The alias as it was asked for.
    public let alias: Alias
    /// Its activities with a token that may be handed out, in the order of their internal numbers.
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
        return try await read { session in try session.execute(statement).decode(ResolvedActivity.columns) }
    }

    /// One page of an alias as ``activities(under:after:limit:in:)`` gives it, and the alias's channels.
    public func page(
        of alias: Alias,
        after number: Int64,
        limit: Int,
        in scope: Scope
    ) async throws -> AliasPage {
        try await read { try ResolveRequest.find(alias, after: number, limit: limit, in: scope, $0) }
    }

    /// The first page of an alias, found together with those of other callers, for one who has no task that could wait.
    ///
    /// - Parameters:
    ///   - limit: at most 1001, one more than a page may have.
    ///   - executor: runs what goes on between waits; nil is Swift's own pool.
    ///   - complete: told the page or the problem, once, on any thread.
    public func firstPage(
        of alias: Alias,
        limit: Int,
        in scope: Scope,
        on executor: (any TaskExecutor)?,
        complete: @escaping @Sendable (Result<AliasPage, Problem>) -> Void
    ) {
        let request = ResolveRequest(alias: alias, limit: limit, scope: scope)
        resolutions.submit(request, on: executor, complete: complete)
    }

    /// The most activities that ``resolve(_:limitPerAlias:in:)`` gives, repetitions counted: some 4 MiB of JSON.
    public static let mostResolved = 10_000

    /// The activities that many aliases name, in the order asked, at most `limitPerAlias` of each and ``mostResolved`` of all.
    ///
    /// An alias that is asked for again is not looked up again. Where there are more, the last aliases get fewer or none, and
    /// are truncated.
    public func resolve(_ aliases: [Alias], limitPerAlias: Int, in scope: Scope) async throws -> [ResolvedAlias] {
        var indices: [Alias: Int] = [:]
        var distinct: [Alias] = []
        for alias in aliases where indices[alias] == nil {
            indices[alias] = distinct.count
            distinct.append(alias)
        }
        let (pages, complete) = try await read { [distinct] session in
            try ResolveRequest.find(distinct, limit: limitPerAlias + 1, most: Self.mostResolved, in: scope, session)
        }
        var rest = Self.mostResolved
        return aliases.compactMap { alias in
            guard let index = indices[alias] else { return nil }
            let found = pages[index].activities
            let shown = min(found.count, limitPerAlias, rest)
            rest -= shown
            return ResolvedAlias(
                alias: alias,
                activities: shown < found.count ? Array(found.prefix(shown)) : found,
                channels: pages[index].channels,
                isTruncated: shown < found.count || index >= complete
            )
        }
    }

    /// One activity, running or not, or nil when it is not known.
    public func activity(_ id: ActivityID, in scope: Scope) async throws -> ActivityRecord? {
        let statement = ResolveStatements.activity(id, in: scope)
        return try await read { session in try session.execute(statement).decode(ActivityRecord.columns).first }
    }
}

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
    static func batcher(_ units: UnitsOfWork, queueTimeout: Duration) -> Batcher<ResolveRequest, AliasPage> {
        Batcher(
            lanes: 2,
            largestBatch: 64,
            capacity: 10_000,
            queueTimeout: queueTimeout,
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
                ChannelStatements.channels(of: [alias], in: scope),
            ],
            session
        )
    }

    private static func find(_ statements: [SQL], _ session: borrowing PostgresSession) throws -> AliasPage {
        let results = try session.pipeline(statements)
        return AliasPage(
            activities: try results[0].decode(ResolvedActivity.columns),
            channels: try results[1].byPosition(of: 1, BroadcastChannel.columns(of: "c"))[0]
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
        var activities = try results[0].byPosition(of: aliases.count, ResolvedActivity.columns)
        let last = results[0].count > most ? activities.lastIndex { !$0.isEmpty } : nil
        for index in activities.indices { activities[index].sort { $0.number < $1.number } }
        let channels = try results[1].byPosition(of: aliases.count, BroadcastChannel.columns(of: "c"))
        return (
            zip(activities, channels).map { AliasPage(activities: $0, channels: $1) },
            complete: last ?? aliases.count
        )
    }
}

extension PostgresResult {
    /// The values of the rows, by the position in the request that each row begins with, counted from 1.
    func byPosition<Value: Sendable>(of count: Int, _ columns: Columns<Value>) throws -> [[Value]] {
        var found = [[Value]](repeating: [], count: count)
        let positioned = Columns(.one("position"), columns) { (position: Int, value: Value) in (position, value) }
        for (position, value) in try decode(positioned) { found[position - 1].append(value) }
        return found
    }
}
