import PostgresDriver
import RegistryCore

package struct ResolvedAlias: Sendable, Hashable {
    package let alias: Alias
    /// The deliverable activities of the alias, in the order of their keys.
    package let activities: [ResolvedActivity]
    package let metadata: FoundMetadata?
    package let channels: [BroadcastChannel]
    package let isTruncated: Bool
}

extension Registry {
    /// In the order of their immutable keys.
    ///
    /// - Parameter key: the last key of the previous page, or 0.
    package func activities(
        under alias: Alias,
        after key: Int64 = 0,
        limit: Int,
        in scope: Scope
    ) async throws -> [ResolvedActivity] {
        var page = try await page(of: alias, after: key, limit: limit, in: scope)
        while page.activities.isEmpty, let next = page.next {
            page = try await self.page(of: alias, after: next, limit: limit, in: scope)
        }
        return page.activities
    }

    /// If very many tokens are withheld, a page may be short or empty although more follow. Callers of first pages
    /// share statements.
    package func page(
        of alias: Alias,
        after key: Int64,
        limit: Int,
        in scope: Scope,
        on executor: (any TaskExecutor)? = nil
    ) async throws -> AliasPage {
        let rows: AliasRows
        if key == 0 {
            rows = try await resolutions.submit(ResolveRequest(alias: alias, limit: limit, scope: scope), on: executor)
        } else {
            rows = try await read { try ResolveRequest.findActivities(alias, after: key, limit: limit, in: scope, $0) }
        }
        guard rows.isShort else { return rows.page }
        var rest = Self.mostWithheld
        return try await fill(rows, of: alias, in: scope, &rest).page
    }

    /// Maximum additional rows read to fill a page.
    static let mostWithheld = 10_000

    private func fill(
        _ rows: AliasRows,
        of alias: Alias,
        in scope: Scope,
        _ rest: inout Int
    ) async throws -> AliasRows {
        var rows = rows
        while rows.isShort, rest > 0, let last = rows.last {
            let limit = min(1000, rest)
            let readPage = Query.readPage(alias.values(in: scope) + ["after": last, "limit": limit])
            let more = try await read { try $0.execute(readPage).decode(AliasRow.self) }
            for row in more { rows.add(row) }
            rows.isCut = more.count >= limit
            rest -= limit
        }
        return rows
    }

    /// Maximum activities that ``resolve(_:limitPerAlias:most:in:)`` returns or examines, including repetitions: about
    /// 4 MiB of JSON.
    package static let mostResolved = 10_000
    /// The same with metadata.
    private static let mostDescribed = 1000

    /// The aliases in the given order, with at most `limitPerAlias` activities each and `most` in total.
    ///
    /// A repeated alias is not looked up again. At the limit, the last aliases get fewer or none, and are truncated.
    package func resolve(
        _ aliases: [Alias],
        limitPerAlias: Int,
        most: Int = mostResolved,
        includesMetadata: Bool = false,
        in scope: Scope
    ) async throws -> [ResolvedAlias] {
        let most = includesMetadata ? Self.mostDescribed : most
        var indices: [Alias: Int] = [:]
        var distinct: [Alias] = []
        for alias in aliases where indices[alias] == nil {
            indices[alias] = distinct.count
            distinct.append(alias)
        }
        var (rows, complete) = try await read { [distinct] session in
            try ResolveRequest.findActivities(distinct, limit: limitPerAlias, most: most, in: scope, session)
        }
        var looks = Self.mostWithheld
        for index in rows.indices.prefix(complete) where rows[index].isShort {
            rows[index] = try await fill(rows[index], of: distinct[index], in: scope, &looks)
        }
        let pages = rows.map(\.page)
        let found = includesMetadata ? pages.flatMap(\.activities) : []
        let metadata =
            includesMetadata ? try await metadata(of: found.map(\.key), found.map(\.installation), in: scope) : nil
        var rest = most
        return aliases.compactMap { alias in
            guard let index = indices[alias] else { return nil }
            let found = pages[index].activities
            let shown = min(found.count, rest)
            rest -= shown
            return ResolvedAlias(
                alias: alias,
                activities: shown < found.count ? Array(found.prefix(shown)) : found,
                metadata: metadata,
                channels: pages[index].channels,
                isTruncated: shown < found.count || pages[index].next != nil || index >= complete
            )
        }
    }

    /// An activity in any state; nil if unknown.
    package func activity(_ id: ActivityID, in scope: Scope) async throws -> ActivityRecord? {
        try await read { session in
            try session.run("resolve.read-activity", ["scope": scope.id, "id": id]).decode(ActivityRecord.self).first
        }
    }
}
