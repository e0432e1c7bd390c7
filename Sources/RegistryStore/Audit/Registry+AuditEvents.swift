import Foundation
import PostgresDriver
import RegistryCore

/// How much a call of the audit looks at before it answers with what it has.
struct SearchBudget: Sendable {
    /// How long it goes on beginning ranges.
    static let time = Duration.milliseconds(400)

    private let deadline: ContinuousClock.Instant

    init(_ time: Duration = time) { deadline = ContinuousClock.now + time }

    var isSpent: Bool { ContinuousClock.now >= deadline }
}

extension Registry {
    /// How many events a range has.
    private static let eventRangeSize = 20_000

    /// One page of the audit trail, newest first.
    ///
    /// - Parameter number: of the last event of the page before; nil for the first page.
    public func events(
        _ filter: EventFilter = EventFilter(),
        before number: Int64? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> AuditPage<AuditEvent, Int64> {
        let statements = AuditEventStatements(filter: filter, scope: scope)
        return try await read { session in
            guard !statements.isIndexed else {
                let page = statements.page(before: number ?? .max, limit: limit + 1)
                let found = try session.pipeline([AuditEventStatements.preferIndexes, page])[1]
                return Self.page(try found.decode(AuditEvent.columns), limit: limit)
            }
            return try Self.search(statements, before: number, limit: limit, session)
        }
    }

    private static func page(_ found: [AuditEvent], limit: Int) -> AuditPage<AuditEvent, Int64> {
        let items = Array(found.prefix(limit))
        return AuditPage(items: items, next: found.count > limit ? items.last?.number : nil)
    }

    private static func search(
        _ statements: AuditEventStatements,
        before number: Int64?,
        limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> AuditPage<AuditEvent, Int64> {
        let budget = SearchBudget()
        var upper = try number ?? firstNumber(statements, session)
        var found: [AuditEvent] = []
        while true {
            let range = try session.execute(statements.range(before: upper, count: eventRangeSize))[0]
            let (first, count, latest) = try range.decode(Int64?.self, Int.self, Date?.self)
            guard let first, let latest else { return AuditPage(items: found) }
            let page = statements.page(from: first, before: upper, limit: limit + 1 - found.count)
            found += try session.execute(page).decode(AuditEvent.columns)
            if found.count > limit { return Self.page(found, limit: limit) }
            // Transactions that overlap put events out of order, but not by an hour.
            let isBefore = statements.filter.since.map { latest < $0.addingTimeInterval(-3600) } ?? false
            if isBefore || count < eventRangeSize { return AuditPage(items: found) }
            upper = first
            if budget.isSpent { return AuditPage(items: found, next: first) }
        }
    }

    /// Where a search begins that no page came before.
    private static func firstNumber(
        _ statements: AuditEventStatements,
        _ session: borrowing PostgresSession
    ) throws -> Int64 {
        guard let until = statements.filter.until else { return .max }
        return try session.execute(statements.end(of: until))[0].decode(Int64?.self) ?? .max
    }
}
