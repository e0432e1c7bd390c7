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
    ) async throws -> AliasPage {
        try await read { try ResolveRequest.find(alias, after: number, limit: limit, in: scope, $0) }
    }

    /// The first page of an alias, found together with those of other callers, for one who has no task that could wait.
    ///
    /// - Parameters:
    ///   - limit: at most 1001, one more than a page may have.
    ///   - thread: the one that it is called on.
    ///   - complete: told the page or the problem, once, on any thread.
    public func firstPage(
        of alias: Alias,
        limit: Int,
        in scope: Scope,
        on thread: CallersThread,
        complete: @escaping @Sendable (Result<AliasPage, Problem>) -> Void
    ) {
        let request = ResolveRequest(alias: alias, limit: limit, scope: scope)
        resolutions.submit(request, on: thread.executor, complete: complete)
    }

    /// The activities that many aliases name, in the order asked, at most `limitPerAlias` of each.
    public func resolve(_ aliases: [Alias], limitPerAlias: Int, in scope: Scope) async throws -> [ResolvedAlias] {
        let found = try await read { try ResolveRequest.find(aliases, limit: limitPerAlias + 1, in: scope, $0) }
        return zip(aliases, found).map { alias, page in
            let isTruncated = page.activities.count > limitPerAlias
            return ResolvedAlias(
                alias: alias,
                activities: isTruncated ? Array(page.activities.prefix(limitPerAlias)) : page.activities,
                channels: page.channels,
                isTruncated: isTruncated
            )
        }
    }

    /// One activity, running or not, or nil when it is not known.
    public func activity(_ id: ActivityID, in scope: Scope) async throws -> ActivityRecord? {
        let statement = ResolveStatements.activity(id, in: scope)
        return try await read { session in try session.execute(statement).rows.first.map { try ActivityRecord($0) } }
    }
}

/// One page of what an alias names.
public struct AliasPage: Sendable, Hashable {
    public let activities: [ResolvedActivity]
    public let channels: [BroadcastChannel]
}

/// The first page of one alias.
struct ResolveRequest: Sendable {
    let alias: Alias
    let limit: Int
    let scope: Scope

    /// A lookup of one alias shares its statement with others of the same app and page size.
    static func batcher(_ units: UnitsOfWork, patience: Duration) -> Batcher<ResolveRequest, AliasPage> {
        Batcher(
            lanes: 2,
            largestBatch: 64,
            capacity: 10_000,
            patience: patience,
            measures: units.measures.batches[.resolutions],
            select: { candidates in
                guard let first = candidates.first else { return [] }
                return candidates.map { $0.scope.sharesStatements(with: first.scope) && $0.limit == first.limit }
            },
            perform: { lane in
                try await units.serve(lane, .resolutions, .idempotentRead, patience: { _ in .milliseconds(1) }) {
                    session,
                    requests in
                    let (limit, scope) = (requests[0].limit, requests[0].scope)
                    guard requests.count > 1 else {
                        let input = ResolveTemplates.Input(aliases: [requests[0].alias], limit: limit, scope: scope)
                        return [.success(try find(ResolveTemplates.one.statements(of: input), session))]
                    }
                    return try find(requests.map(\.alias), limit: limit, in: scope, session).map { .success($0) }
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
            activities: try results[0].rows.map { try ResolvedActivity($0) },
            channels: try results[1].rows.map { try BroadcastChannel($0, from: 1) }
        )
    }

    /// The first activities of each of many aliases.
    static func find(
        _ aliases: [Alias],
        limit: Int,
        in scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> [AliasPage] {
        let input = ResolveTemplates.Input(aliases: aliases, limit: limit, scope: scope)
        let results = try session.pipeline(ResolveTemplates.many.statements(of: input))
        var activities = try results[0].byPosition(of: aliases.count) { try ResolvedActivity($0, from: 1) }
        for index in activities.indices { activities[index].sort { $0.number < $1.number } }
        let channels = try results[1].byPosition(of: aliases.count) { try BroadcastChannel($0, from: 1) }
        return zip(activities, channels).map { AliasPage(activities: $0, channels: $1) }
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
