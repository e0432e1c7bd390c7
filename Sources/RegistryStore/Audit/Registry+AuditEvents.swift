import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// The time after which a search of the audit begins no new range. The call then returns its results so far.
    package static let searchTime = Duration.milliseconds(400)

    /// Newest first.
    package func events(
        _ filter: EventFilter = EventFilter(),
        after position: ListPosition = .start,
        limit: Int,
        in scope: Scope
    ) async throws -> AuditPage<AuditEvent> {
        let search = AuditEventSearch(filter: filter, limit: limit, scope: scope)
        let number = position == .start ? .max : position.number
        return try await read { session in
            if let page = search.indexedPage(before: number) {
                do {
                    let limits = [Query("events.prefer-indexes")(), Query("events.limit-time")()]
                    return search.page(of: try session.pipeline(limits + [page])[2].decode())
                } catch let error as PostgresError where error.sqlState == "57014" {
                    // Too many events for one statement. Search by ranges, with the same cursors.
                }
            }
            return try search.readRanges(before: number, session)
        }
    }
}

private struct AuditEventSearch {
    let filter: EventFilter
    let limit: Int
    let scope: Scope

    private static let rangeSize = 20_000

    /// Types that nearly every request writes. The index of types omits them.
    private static let commonTypes: Set<UTF8Text> = ["registered", "rotated", "ended", "expired", "dismissed"]

    func readRanges(before number: Int64, _ session: borrowing PostgresSession) throws -> AuditPage<AuditEvent> {
        let deadline = ContinuousClock.now + Registry.searchTime
        var upper = try number == .max ? firstNumber(session) : number
        var found: [AuditEvent] = []
        while true {
            let values: QueryValues = ["scope": scope.id, "before": upper, "size": Self.rangeSize]
            let (first, count, latest): (Int64?, Int, Date?) = try session.run("events.find-range", values)
                .decode { (try $0["first"], try $0["count"], try $0["latest"]) }[0]
            guard let first, let latest else { return AuditPage(items: found) }
            found += try session.execute(range(from: first, before: upper)).decode(AuditEvent.self)
            if found.count > limit { return page(of: found) }
            // Overlapping transactions write events out of order, but not by an hour.
            let isBefore = filter.since.map { latest < $0.addingTimeInterval(-3600) } ?? false
            if isBefore || count < Self.rangeSize { return AuditPage(items: found) }
            upper = first
            if ContinuousClock.now >= deadline { return AuditPage(items: found, next: ListPosition(number: first)) }
        }
    }

    func page(of found: [AuditEvent]) -> AuditPage<AuditEvent> {
        let items = Array(found.prefix(limit))
        return AuditPage(items: items, next: found.count > limit ? ListPosition(number: found[limit - 1].number) : nil)
    }

    private func firstNumber(_ session: borrowing PostgresSession) throws -> Int64 {
        guard let until = filter.until else { return .max }
        let end = try session.run("events.find-end", ["scope": scope.id, "time": until])
        return try end.decode { try $0["number"] as Int64? }[0] ?? .max
    }

    func indexedPage(before number: Int64) -> SQL? {
        let ofType = values(before: number) + ["type": filter.type]
        let ofSubject = ofType + ["subject": filter.subject]
        let ofInstallation = ofSubject + ["installation": filter.installation]
        if let id = filter.activityID { return Query("events.read-of-activity")(ofInstallation + ["activity": id]) }
        if filter.installation != nil { return Query("events.read-of-installation")(ofInstallation) }
        if filter.subject != nil { return Query("events.read-of-subject")(ofSubject) }
        if let type = filter.type, !Self.commonTypes.contains(type) { return Query("events.read-rare")(ofType) }
        return nil
    }

    private func range(from first: Int64, before number: Int64) -> SQL {
        Query("events.read-range")(
            values(before: number) + [
                "first": first, "activity": filter.activityID, "installation": filter.installation,
                "subject": filter.subject, "type": filter.type,
            ]
        )
    }

    private func values(before number: Int64) -> QueryValues {
        [
            "scope": scope.id, "before": number, "limit": limit + 1, "kind": filter.alias?.kind,
            "value": filter.alias?.value, "since": filter.since, "until": filter.until,
        ]
    }
}

package struct AuditEvent: Sendable, Hashable, DecodableRow, JSONObjectEncodable {
    /// Increases with time, except between overlapping transactions. Orders pages.
    package let number: Int64
    package let recordedAt: Date
    package let type: String
    /// A key id, `user:` and a subject, `sweep`, `command-line`, or `insecure` without authentication.
    package let who: UTF8Text
    package let activityID: UTF8Text?
    package let installation: InstallationHash?
    package let subject: UTF8Text?
    /// Stored JSON, `{"kind": ["value", …]}`.
    package let aliases: [UInt8]?
    package let fingerprint: [UInt8]?
    package let leaseID: LeaseID?

    package init(row: NamedRow) throws {
        number = try row["event_number"]
        recordedAt = try row["recorded_at"]
        type = try row["type"]
        who = try row["who"]
        activityID = try row["activity_id"]
        installation = try row["installation_hash"]
        subject = try row["subject"]
        aliases = (try row["aliases"] as JSONB?)?.bytes
        fingerprint = try row["token_fingerprint"]
        leaseID = try row["lease_id"]
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("at", recordedAt)
        json.member("type", type)
        json.member("who", who)
        json.member("activityId", ifPresent: activityID)
        json.hex("installation", ifPresent: installation?.bytes)
        json.member("subject", ifPresent: subject)
        json.raw("aliases", ifPresent: aliases)
        json.hex("fingerprint", ifPresent: fingerprint)
        json.member("leaseId", ifPresent: leaseID?.description)
    }
}

/// A nil member filters nothing. `subject` and `alias` are those at the time of the event.
package struct EventFilter: Sendable, Hashable {
    package var activityID: ActivityID?
    package var installation: InstallationHash?
    package var subject: UTF8Text?
    package var alias: Alias?
    package var type: UTF8Text?
    package var since: Date?
    package var until: Date?
    package init() {}
}

/// The actors in the audit trail: an API key's id, a word such as `sweep` for a part of the service, or a user's
/// subject with a prefix, so that a subject cannot imitate the others.
package enum AuditName {
    package static let userPrefix: UTF8Text = "user:"
    package static func user(_ subject: UTF8Text) -> UTF8Text { "\(userPrefix)\(subject)" }

    package static func subject(of name: UTF8Text) -> UTF8Text? {
        name.hasPrefix(userPrefix) ? name.dropping(prefix: userPrefix) : nil
    }
}
