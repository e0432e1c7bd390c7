import Foundation
import PostgresDriver
import RegistryCore

/// A row of an alias: its activity's number, and the activity unless its token is withheld.
struct AliasRow {
    let number: Int64
    let activity: ResolvedActivity?

    static let columns = Columns(sql: ResolvedActivity.names(of: "c", number: "al.activity_key")) { row in
        try AliasRow(number: row.next(), facts: facts, &row)
    }

    /// After the position of a request `q`.
    static let positioned = columns.positioned

    private static let facts = ActivityFacts.columns(of: "c")

    /// The columns of an activity. All are null if there is none; all but its number if its token is withheld.
    static func optional(of row: String, number: String) -> Columns<AliasRow?> {
        let facts = ActivityFacts.columns(of: row)
        return Columns(sql: ResolvedActivity.names(of: row, number: number)) { row in
            let number: Int64? = try row.next()
            let found = try AliasRow(number: number ?? 0, facts: facts, &row)
            return number == nil ? nil : found
        }
    }

    private init(number: Int64, facts: Columns<ActivityFacts>, _ row: inout RowReader) throws {
        self.number = number
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
            number: number,
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
