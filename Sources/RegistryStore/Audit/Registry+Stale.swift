import PostgresDriver
import RegistryCore

extension Registry {
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

    /// The number of tokens that a purge would drop, and a sample if wanted.
    package func countStaleTokens(
        _ filter: StaleFilter = StaleFilter(),
        hasSample: Bool = true,
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
        guard hasSample else { return counts }
        counts.sample = try await staleTokens(filter, limit: 10, searchTime: searchTime, in: scope).items
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
            let page = try await staleTokens(filter, after: start, limit: 1000, in: scope)
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
    /// Returns the position of the next range; nil after the last one.
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

/// The queries for stale tokens of one kind. An index finds quarantined tokens; all others are found by reading the
/// tokens in ranges of their numbers.
struct StaleStatements {
    let kind: TokenKind
    let filter: StaleFilter
    let scope: Scope

    private static let rangeSize = 50_000
    private var isIndexed: Bool { reasons == [.quarantined] }
    private var reasons: [StaleReason] { filter.reasons(of: kind) }
    private var values: QueryValues { ["scope": scope.id, "kind": kind.name, "type": filter.attributesType] }

    private var conditions: QueryValues {
        ["reasons": reasons.map(\.rawValue), "unconfirmed_for": filter.staleAge(with: kind)]
    }

    /// The last number of a range; nil for the last range.
    func rangeEnd(after number: Int64, _ session: borrowing PostgresSession) throws -> Int64? {
        guard !isIndexed else { return nil }
        let find = NumberRange.find(of: kind, after: number, size: Self.rangeSize, in: scope)
        let range = try session.execute(find).decode(NumberRange.self)[0]
        return range.count < Self.rangeSize ? nil : range.last
    }

    func page(after position: Int64, through last: Int64, limit: Int) -> SQL {
        if isIndexed {
            return Query("stale.read-quarantined-page")(
                values + ["after": position, "most": SlotHolders.most, "limit": limit]
            )
        }
        return Query("stale.read-page")(values + conditions + ["after": position, "through": last, "limit": limit])
    }

    /// The page of quarantined tokens contains their total.
    func counts(after position: Int64, through last: Int64) -> SQL {
        isIndexed
            ? page(after: position, through: last, limit: 1)
            : Query("stale.count")(values + conditions + ["after": position, "through": last])
    }

    /// The tokens that are still stale; they may have changed before they were locked.
    func remaining(_ numbers: [Int64]) -> SQL { Query("stale.find-among")(values + conditions + ["numbers": numbers]) }

    func token(_ row: NamedRow) throws -> StaleToken {
        StaleToken(
            kind: kind,
            number: try row["number"],
            reasons: try reasons(row),
            fingerprint: try row["fingerprint"],
            observedAt: try row["observed_at"],
            confirmedAt: try row["confirmed_at"],
            unconfirmedFor: try row["unconfirmed_for"],
            activityID: try row["activity_id"],
            installation: try row["installation_hash"],
            attributesType: try row["attributes_type"],
            expiresAt: try row["expires_at"],
            quarantinedAt: try row["quarantined_at"],
            quarantineReason: try row["quarantine_reason"]
        )
    }

    func reasons(_ row: NamedRow) throws -> [StaleReason] {
        let holds: [StaleReason: Bool] = [
            .unconfirmed: try row["is_unconfirmed"], .expired: try row["is_expired"],
            .quarantined: try row["is_quarantined"],
        ]
        return reasons.filter { holds[$0] == true }
    }
}

/// A range of a kind's token rows, in the order of their immutable numbers.
struct NumberRange: DecodableRow {
    /// Nil after the last row.
    let last: Int64?
    let count: Int
    let firstOfAll: Int64?
    let lastOfAll: Int64?

    init(row: NamedRow) throws {
        last = try row["last"]
        count = try row["count"]
        firstOfAll = try row["first_of_all"]
        lastOfAll = try row["last_of_all"]
    }

    static func find(of kind: TokenKind, after number: Int64, size: Int, in scope: Scope) -> SQL {
        let values: QueryValues = ["scope": scope.id, "after": number, "size": size]
        return kind.holder == .activity
            ? Query("audit.find-activity-range")(values) : Query("audit.find-token-range")(values + ["kind": kind.name])
    }
}
