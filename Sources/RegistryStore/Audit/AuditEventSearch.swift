import PostgresDriver
import RegistryCore

/// The query for each combination of filters.
struct AuditEventSearch {
    let filter: EventFilter
    let scope: Scope

    /// Those that nearly every request writes: the index of types leaves them out.
    static let commonTypes: Set<UTF8Text> = ["registered", "rotated", "ended", "expired", "dismissed"]

    /// The page that an index finds; nil if no index finds it.
    func indexedPage(before number: Int64, limit: Int) -> SQL? {
        let (installation, subject, type) = (filter.installation, filter.subject, filter.type)
        let values = values(before: number, limit: limit)
        if let id = filter.activityID {
            return Query.readEventsOfActivity(
                values + ["activity": id, "installation": installation, "subject": subject, "type": type]
            )
        }
        if let installation {
            return Query.readEventsOfInstallation(
                values + ["installation": installation, "subject": subject, "type": type]
            )
        }
        if let subject { return Query.readEventsOfSubject(values + ["subject": subject, "type": type]) }
        if let type, !Self.commonTypes.contains(type) { return Query.readRareEvents(values + ["type": type]) }
        return nil
    }

    func page(from first: Int64, before number: Int64, limit: Int) -> SQL {
        Query.readEventRange(
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

extension Query {
    fileprivate static let readEventsOfActivity: Query = "events.read-of-activity"
    fileprivate static let readEventsOfInstallation: Query = "events.read-of-installation"
    fileprivate static let readEventsOfSubject: Query = "events.read-of-subject"
    fileprivate static let readRareEvents: Query = "events.read-rare"
    fileprivate static let readEventRange: Query = "events.read-range"
}
