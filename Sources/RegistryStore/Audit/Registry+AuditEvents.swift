import Foundation
import PostgresDriver
import RegistryCore

/// The limit of a call's search of the audit trail; the call then returns its results so far.
struct SearchBudget: Sendable {
    /// No new range begins after this time.
    static let time = Duration.milliseconds(400)

    private let deadline: ContinuousClock.Instant

    init(_ time: Duration = time) { deadline = ContinuousClock.now + time }

    var isSpent: Bool { ContinuousClock.now >= deadline }
}

extension Registry {
    private static let eventRangeSize = 20_000

    /// One page of the audit trail, newest first.
    ///
    /// - Parameter number: of the last event of the page before; nil for the first page.
    package func events(
        _ filter: EventFilter = EventFilter(),
        before number: Int64? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> AuditPage<AuditEvent, Int64> {
        let statements = AuditEventStatements(filter: filter, scope: scope)
        return try await read { session in
            if statements.isIndexed {
                let page = statements.page(before: number ?? .max, limit: limit + 1)
                do {
                    let setting = [AuditEventStatements.preferIndexes, AuditEventStatements.shortTime]
                    let found = try session.pipeline(setting + [page])[2]
                    return Self.page(try found.decode(AuditEvent.columns), limit: limit)
                } catch let error as PostgresError where error.sqlState == "57014" {
                    // Very many events: ranges find them part by part, with the same cursors.
                }
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

    private static func firstNumber(
        _ statements: AuditEventStatements,
        _ session: borrowing PostgresSession
    ) throws -> Int64 {
        guard let until = statements.filter.until else { return .max }
        return try session.execute(statements.end(of: until))[0].decode(Int64?.self) ?? .max
    }
}

/// The statements that read the audit trail, newest first.
///
/// Events that an index finds are found at once. All others are looked for in ranges of event numbers, so that no call reads
/// the whole trail, however little of it is asked for.
struct AuditEventStatements {
    let filter: EventFilter
    let scope: Scope

    /// Those that nearly every request writes: the index of types leaves them out.
    static let commonTypes: Set<UTF8Text> = ["registered", "rotated", "ended", "expired", "dismissed"]

    /// Whether one query finds the page by an index.
    var isIndexed: Bool {
        filter.activityID != nil || filter.installation != nil || filter.subject != nil
            || filter.type.map { !Self.commonTypes.contains($0) } ?? false
    }

    /// For the rest of the transaction, tables are not read whole. The planner judges the trail's summary by how sorted
    /// a column is, and hashes are not.
    static let preferIndexes: SQL = "SELECT set_config('enable_seqscan', 'off', true)"

    /// For the rest of the transaction a statement has two seconds, which leaves time for another.
    fileprivate static let shortTime: SQL = "SELECT set_config('statement_timeout', '2000', true)"

    /// The page that an index finds: in the index's order if possible, at a cost that does not depend on the number of
    /// events; else the summary of the trail finds all of them before the sort, and scope and number are compared so that
    /// no other index can be used.
    func page(before number: Int64, limit: Int) -> SQL {
        if let (column, value) = indexOrder {
            // By equality alone, the order would be that of the numbers, and the planner would rather go through the trail
            // from its end.
            return """
                SELECT \(AuditEvent.columns) FROM events e
                WHERE \(sql: isAsked) AND \(sql: column) >= \(sql: value)
                    AND (\(sql: column), e.event_number) < (\(sql: value), \(number))
                ORDER BY \(sql: column) DESC, e.event_number DESC LIMIT \(limit)
                """
        }
        return """
            WITH found AS MATERIALIZED (
                SELECT \(AuditEvent.columns) FROM events e
                WHERE \(sql: isAsked(scope.containsUnindexed("e"))) AND (e.event_number < \(number)) IS TRUE
            )
            SELECT * FROM found e ORDER BY e.event_number DESC LIMIT \(limit)
            """
    }

    /// The column or expression of an index in the order of event numbers, and its value.
    private var indexOrder: (column: SQL, value: SQL)? {
        if let id = filter.activityID {
            return (EventStatements.activityHash("e.activity_id"), EventStatements.activityHash("\(id.rawValue)"))
        }
        return typeOfOrder.map { ("e.type", "\($0)") }
    }

    /// The type by whose index the events are found if no other index finds them.
    private var typeOfOrder: UTF8Text? {
        guard filter.activityID == nil, filter.installation == nil, filter.subject == nil, let type = filter.type,
            !Self.commonTypes.contains(type)
        else { return nil }
        return type
    }

    /// The lower end of the next range, how many events it has, and when the latest of them was recorded.
    func range(before number: Int64, count: Int) -> SQL {
        """
        SELECT min(s.event_number), count(*), max(s.recorded_at) FROM (
            SELECT e.event_number, e.recorded_at FROM events e
            WHERE \(sql: scope.contains("e")) AND e.event_number < \(number)
            ORDER BY e.event_number DESC LIMIT \(count)
        ) AS s
        """
    }

    func page(from first: Int64, before number: Int64, limit: Int) -> SQL {
        """
        SELECT \(AuditEvent.columns) FROM events e
        WHERE \(sql: isAsked) AND e.event_number >= \(first) AND e.event_number < \(number)
        ORDER BY e.event_number DESC LIMIT \(limit)
        """
    }

    /// The first number above all events recorded before a time. Numbers grow with time except for overlapping
    /// transactions, which last less than an hour.
    func end(of time: Date) -> SQL {
        """
        SELECT min(e.event_number) FROM events e
        WHERE \(sql: scope.contains("e")) AND e.recorded_at > \(time) + interval '1 hour'
            AND e.recorded_at < \(time) + interval '2 hours'
        """
    }

    private var isAsked: SQL { isAsked(scope.contains("e")) }

    private func isAsked(_ inScope: SQL) -> SQL {
        var condition = inScope
        func and(_ more: SQL?) { if let more { condition = "\(sql: condition) AND \(sql: more)" } }
        and(filter.activityID.map { "e.activity_id = \($0.rawValue)" })
        and(filter.installation.map { "e.installation_hash = \($0.bytes)" })
        and(filter.subject.map { "e.subject = \($0)" })
        and(filter.alias.map { "e.aliases -> \($0.kind) ? \($0.value)" })
        and(filter.type.map(isOfType))
        and(filter.since.map { "e.recorded_at >= \($0)" })
        and(filter.until.map { "e.recorded_at < \($0)" })
        return condition
    }

    /// Names the index's own condition where it holds, for a plan that is made before the type is known.
    private func isOfType(_ type: UTF8Text) -> SQL {
        guard !Self.commonTypes.contains(type) else { return "e.type = \(type)" }
        let common = Self.commonTypes.sorted().map { "'\($0)'" }.joined(separator: ", ")
        let isRare: SQL = "e.type NOT IN (\(unescaped: common))"
        return typeOfOrder == type ? isRare : "e.type = \(type) AND \(sql: isRare)"
    }
}

extension AuditEvent {
    static let columns = Columns(
        .one("e.event_number"),
        .one("e.recorded_at"),
        .one("e.type"),
        .one("e.who"),
        .one("e.activity_id"),
        .one("e.installation_hash"),
        .one("e.subject"),
        .json("e.aliases"),
        .one("e.token_fingerprint"),
        .one("e.lease_id"),
        as: AuditEvent.init
    )
}
