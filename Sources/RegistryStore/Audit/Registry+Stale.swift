import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    private static let sampleSize = 10
    private static let purgePageSize = 1000

    /// - Parameters:
    ///   - position: its part is the index of a kind in the app's ``AppSettings/allTokenKinds``.
    ///   - searchTime: the time limit.
    package func staleTokens(
        _ filter: StaleFilter = StaleFilter(),
        after position: ListPosition = .start,
        limit: Int,
        searchTime: Duration = Registry.searchTime,
        in scope: Scope
    ) async throws -> AuditPage<StaleToken> {
        try await read { session in
            var found: [StaleToken] = []
            let next = try filter.readRanges(in: scope, from: position, for: searchTime, session) { stale, start, end in
                let page = stale.page(after: start, through: end, limit: limit + 1 - found.count)
                found += try session.execute(page).decode(stale.token)
                return found.count <= limit
            }
            guard found.count > limit else { return AuditPage(items: found, next: next) }
            let last = found[limit - 1]
            let part = scope.app.settings.allTokenKinds.firstIndex(of: last.kind) ?? 0
            return AuditPage(items: Array(found.prefix(limit)), next: ListPosition(part: part, number: last.number))
        }
    }

    /// The number of tokens that a purge would drop, and a sample.
    ///
    /// - Parameter searchTime: the time limit for the count, and again for the sample.
    package func countStaleTokens(
        _ filter: StaleFilter = StaleFilter(),
        searchTime: Duration = Registry.searchTime,
        in scope: Scope
    ) async throws -> StaleCounts {
        var counts = try await read { session in
            var counts = StaleCounts()
            let next = try filter.readRanges(in: scope, for: searchTime, session) { stale, start, end in
                let found = try session.execute(stale.counts(after: start, through: end)).decode { row in
                    (reasons: try stale.reasons(row), count: try row["count"] as Int)
                }
                for (reasons, count) in found { counts.add(count, of: stale.kind, for: reasons) }
                return true
            }
            counts.isComplete = next == nil
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
        var (purged, position) = (0, ListPosition?.some(.start))
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

extension StaleFilter {
    /// Calls `visit` with the bounds of each range, until it returns false, the time is up or the last range is done.
    ///
    /// - Returns: the position of the next range; nil after the last one.
    fileprivate func readRanges(
        in scope: Scope,
        from start: ListPosition = .start,
        for time: Duration,
        _ session: borrowing PostgresSession,
        _ visit: (StaleStatements, _ after: Int64, _ through: Int64) throws -> Bool
    ) throws -> ListPosition? {
        let deadline = ContinuousClock.now + time
        let kinds = scope.app.settings.allTokenKinds
        var position = start
        while position.part < kinds.count {
            guard concerns(kinds[position.part]) else {
                position = ListPosition(part: position.part + 1)
                continue
            }
            let statements = StaleStatements(kind: kinds[position.part], filter: self, scope: scope)
            let end = try statements.rangeEnd(after: position.number, session)
            guard try visit(statements, position.number, end ?? .max) else { return position }
            position = ListPosition(part: position.part + (end == nil ? 1 : 0), number: end ?? 0)
            if ContinuousClock.now >= deadline { break }
        }
        return position.part < kinds.count ? position : nil
    }
}
