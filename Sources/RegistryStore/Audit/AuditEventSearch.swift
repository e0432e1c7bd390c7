import PostgresDriver
import RegistryCore

struct AuditEventSearch {
    let filter: EventFilter
    let scope: Scope

    /// Types that nearly every request writes. The index of types omits them.
    static let commonTypes: Set<UTF8Text> = ["registered", "rotated", "ended", "expired", "dismissed"]

    func indexedPage(before number: Int64, limit: Int) -> SQL? {
        let (installation, subject, type) = (filter.installation, filter.subject, filter.type)
        let values = values(before: number, limit: limit)
        if let id = filter.activityID {
            return Query("events.read-of-activity")(
                values + ["activity": id, "installation": installation, "subject": subject, "type": type]
            )
        }
        if let installation {
            return Query("events.read-of-installation")(
                values + ["installation": installation, "subject": subject, "type": type]
            )
        }
        if let subject { return Query("events.read-of-subject")(values + ["subject": subject, "type": type]) }
        if let type, !Self.commonTypes.contains(type) { return Query("events.read-rare")(values + ["type": type]) }
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
