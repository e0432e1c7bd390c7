import Foundation
import PostgresDriver
import RegistryCore

/// Limits one call's search of the audit trail. The call then returns its results so far.
package struct SearchBudget: Sendable {
    /// No new range begins after this time.
    package static let time = Duration.milliseconds(400)

    private let deadline: ContinuousClock.Instant

    init(_ time: Duration = time) { deadline = ContinuousClock.now + time }

    var isSpent: Bool { ContinuousClock.now >= deadline }
}

extension Registry {
    private static let eventRangeSize = 20_000

    /// Newest first.
    ///
    /// - Parameter number: the last event of the previous page.
    package func events(
        _ filter: EventFilter = EventFilter(),
        before number: Int64? = nil,
        limit: Int,
        in scope: Scope
    ) async throws -> AuditPage<AuditEvent, Int64> {
        let search = AuditEventSearch(filter: filter, scope: scope)
        return try await read { session in
            if let page = search.indexedPage(before: number ?? .max, limit: limit + 1) {
                do {
                    let found = try session.pipeline([Query.preferIndexes(), Query("events.limit-time")(), page])[2]
                    return Self.page(try found.decode(), limit: limit)
                } catch let error as PostgresError where error.sqlState == "57014" {
                    // Too many events for one statement. Search by ranges, with the same cursors.
                }
            }
            return try Self.read(search, before: number, limit: limit, session)
        }
    }

    private static func page(_ found: [AuditEvent], limit: Int) -> AuditPage<AuditEvent, Int64> {
        let items = Array(found.prefix(limit))
        return AuditPage(items: items, next: found.count > limit ? items.last?.number : nil)
    }

    private static func read(
        _ search: AuditEventSearch,
        before number: Int64?,
        limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> AuditPage<AuditEvent, Int64> {
        let budget = SearchBudget()
        var upper = try number ?? firstNumber(search, session)
        var found: [AuditEvent] = []
        while true {
            let values: QueryValues = ["scope": search.scope.id, "before": upper, "size": eventRangeSize]
            let (first, count, latest): (Int64?, Int, Date?) = try session.run("events.find-range", values)
                .decode { (try $0["first"], try $0["count"], try $0["latest"]) }[0]
            guard let first, let latest else { return AuditPage(items: found) }
            let page = search.page(from: first, before: upper, limit: limit + 1 - found.count)
            found += try session.execute(page).decode(AuditEvent.self)
            if found.count > limit { return Self.page(found, limit: limit) }
            // Overlapping transactions write events out of order, but not by an hour.
            let isBefore = search.filter.since.map { latest < $0.addingTimeInterval(-3600) } ?? false
            if isBefore || count < eventRangeSize { return AuditPage(items: found) }
            upper = first
            if budget.isSpent { return AuditPage(items: found, next: first) }
        }
    }

    private static func firstNumber(
        _ search: AuditEventSearch,
        _ session: borrowing PostgresSession
    ) throws -> Int64 {
        guard let until = search.filter.until else { return .max }
        let end = try session.run("events.find-end", ["scope": search.scope.id, "time": until])
        return try end.decode { try $0["number"] as Int64? }[0] ?? .max
    }
}

struct AuditEventSearch {
    let filter: EventFilter
    let scope: Scope

    /// Types that nearly every request writes. The index of types omits them.
    static let commonTypes: Set<UTF8Text> = ["registered", "rotated", "ended", "expired", "dismissed"]

    func indexedPage(before number: Int64, limit: Int) -> SQL? {
        let ofType = values(before: number, limit: limit) + ["type": filter.type]
        let ofSubject = ofType + ["subject": filter.subject]
        let ofInstallation = ofSubject + ["installation": filter.installation]
        if let id = filter.activityID { return Query("events.read-of-activity")(ofInstallation + ["activity": id]) }
        if filter.installation != nil { return Query("events.read-of-installation")(ofInstallation) }
        if filter.subject != nil { return Query("events.read-of-subject")(ofSubject) }
        if let type = filter.type, !Self.commonTypes.contains(type) { return Query("events.read-rare")(ofType) }
        return nil
    }

    func page(from first: Int64, before number: Int64, limit: Int) -> SQL {
        Query("events.read-range")(
            values(before: number, limit: limit) + [
                "first": first, "activity": filter.activityID, "installation": filter.installation,
                "subject": filter.subject, "type": filter.type,
            ]
        )
    }

    private func values(before number: Int64, limit: Int) -> QueryValues {
        [
            "scope": scope.id, "before": number, "limit": limit, "kind": filter.alias?.kind,
            "value": filter.alias?.value, "since": filter.since, "until": filter.until,
        ]
    }
}

extension AuditEvent: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            number: try row["event_number"],
            recordedAt: try row["recorded_at"],
            type: try row["type"],
            who: try row["who"],
            activityID: try row["activity_id"],
            installation: try row["installation_hash"],
            subject: try row["subject"],
            aliases: (try row["aliases"] as JSONB?)?.bytes,
            fingerprint: try row["token_fingerprint"],
            leaseID: try row["lease_id"]
        )
    }
}

extension Query {
    static let preferIndexes: Query = "events.prefer-indexes"
}
