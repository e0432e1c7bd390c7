import Foundation
import PostgresDriver
import RegistryCore

/// A row of an alias: its activity's key, and the activity unless its token is withheld.
struct AliasRow {
    let key: Int64
    let activity: ResolvedActivity?

    static let columns = Columns(sql: ResolvedActivity.names(of: "c", key: "al.activity_key")) { row in
        try AliasRow(key: row.next(), facts: facts, &row)
    }

    /// After the position of a request `q`.
    static let positioned = columns.positioned

    private static let facts = ActivityFacts.columns(of: "c")

    /// The columns of an activity. All are null if there is none; all but its key if its token is withheld.
    static func optional(of row: String, key: String) -> Columns<AliasRow?> {
        let facts = ActivityFacts.columns(of: row)
        return Columns(sql: ResolvedActivity.names(of: row, key: key)) { row in
            let key: Int64? = try row.next()
            let found = try AliasRow(key: key ?? 0, facts: facts, &row)
            return key == nil ? nil : found
        }
    }

    private init(key: Int64, facts: Columns<ActivityFacts>, _ row: inout RowReader) throws {
        self.key = key
        let (id, token, installation): (ActivityID?, PushToken?, InstallationHash?) = try (
            row.next(), row.next(), row.next()
        )
        let facts = try row.next(facts)
        let (startedAt, startsAt, observedAt): (Date?, Date?, Date?) = try (row.next(), row.next(), row.next())
        let (confirmedAt, expiresAt, revision): (Date?, Date?, Int?) = try (row.next(), row.next(), row.next())
        guard let id, let token, let startedAt, let observedAt, let confirmedAt, let expiresAt, let revision else {
            activity = nil
            return
        }
        activity = ResolvedActivity(
            key: key,
            activityID: id,
            token: token,
            installation: installation,
            facts: facts,
            startedAt: startedAt,
            startsAt: startsAt,
            observedAt: observedAt,
            confirmedAt: confirmedAt,
            expiresAt: expiresAt,
            revision: revision
        )
    }
}
