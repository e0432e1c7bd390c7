import Foundation
import PostgresDriver
import RegistryCore

package struct StalePosition: Sendable, Hashable {
    /// The index of the kind in the app's ``AppSettings/allTokenKinds``.
    package let part: Int
    package let number: Int64

    package init(part: Int, number: Int64) {
        self.part = part
        self.number = number
    }

    package static let start = StalePosition(part: 0, number: 0)
}

extension Registry {
    private static let sampleSize = 10
    private static let purgePageSize = 1000

    /// - Parameter searchTime: the time limit.
    package func staleTokens(
        _ filter: StaleFilter = StaleFilter(),
        after position: StalePosition = .start,
        limit: Int,
        searchTime: Duration = SearchBudget.time,
        in scope: Scope
    ) async throws -> AuditPage<StaleToken, StalePosition> {
        try await read { session in
            var search = StaleSearch(filter: filter, scope: scope, budget: SearchBudget(searchTime), position: position)
            var found: [StaleToken] = []
            try search.readPages(session) { statements, start, end in
                let page = statements.page(after: start, through: end, limit: limit + 1 - found.count)
                found += try session.execute(page).decode(statements.token)
                return found.count <= limit
            }
            guard found.count > limit else { return AuditPage(items: found, next: search.next) }
            let last = found[limit - 1]
            let part = scope.app.settings.allTokenKinds.firstIndex(of: last.kind) ?? 0
            return AuditPage(items: Array(found.prefix(limit)), next: StalePosition(part: part, number: last.number))
        }
    }

    /// The number of tokens that a purge would drop, and a sample.
    ///
    /// - Parameter searchTime: the time limit for the count, and again for the sample.
    package func countStaleTokens(
        _ filter: StaleFilter = StaleFilter(),
        searchTime: Duration = SearchBudget.time,
        in scope: Scope
    ) async throws -> StaleCounts {
        var counts = try await read { session in
            var search = StaleSearch(filter: filter, scope: scope, budget: SearchBudget(searchTime), position: .start)
            var counts = StaleCounts()
            try search.readPages(session) { statements, start, end in
                let found = try session.execute(statements.counts(after: start, through: end)).decode { row in
                    (reasons: try statements.reasons(row), count: try row["count"] as Int)
                }
                for (reasons, count) in found { counts.add(count, of: statements.kind, for: reasons) }
                return true
            }
            counts.isComplete = search.next == nil
            return counts
        }
        counts.sample = try await staleTokens(filter, limit: Self.sampleSize, searchTime: searchTime, in: scope).items
        return counts
    }

    /// A thousand per transaction. Ends no activity: a later observation by a client restores the token.
    package func purgeStaleTokens(
        _ filter: StaleFilter = StaleFilter(),
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> Int {
        var (purged, position) = (0, StalePosition?.some(.start))
        while let start = position {
            let page = try await staleTokens(filter, after: start, limit: Self.purgePageSize, in: scope)
            for (kind, tokens) in Dictionary(grouping: page.items, by: \.kind) {
                let purge = Purge(statements: StaleStatements(kind: kind, filter: filter, scope: scope), who: who)
                purged += try await transact { transaction, _ in try purge.purge(tokens, in: transaction) }
            }
            position = page.next
        }
        return purged
    }
}

private struct StaleSearch {
    let filter: StaleFilter
    let scope: Scope
    let budget: SearchBudget
    var position: StalePosition
    private(set) var next: StalePosition?

    /// Calls `visit` with the bounds of each range, until it returns false, the time is up or the last range is done.
    mutating func readPages(
        _ session: borrowing PostgresSession,
        _ visit: (StaleStatements, Int64, Int64) throws -> Bool
    ) throws {
        let kinds = scope.app.settings.allTokenKinds
        while position.part < kinds.count {
            let kind = kinds[position.part]
            guard filter.concerns(kind) else {
                position = StalePosition(part: position.part + 1, number: 0)
                continue
            }
            let statements = StaleStatements(kind: kind, filter: filter, scope: scope)
            let (end, isLast) = try range(statements, session)
            guard try visit(statements, position.number, end) else { return }
            position =
                isLast
                ? StalePosition(part: position.part + 1, number: 0) : StalePosition(part: position.part, number: end)
            if budget.isSpent, position.part < kinds.count {
                next = position
                return
            }
        }
        next = nil
    }

    private func range(
        _ statements: StaleStatements,
        _ session: borrowing PostgresSession
    ) throws -> (end: Int64, isLast: Bool) {
        guard !statements.isIndexed else { return (.max, true) }
        let size = StaleStatements.rangeSize
        let find = NumberRange.find(of: statements.kind, after: position.number, size: size, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        return (range.last ?? position.number, range.count < size)
    }
}
