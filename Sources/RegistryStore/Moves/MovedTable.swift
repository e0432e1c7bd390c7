import PostgresDriver

/// A table of which an app's rows go with it to another registry, as the database describes it: a column that a later
/// migration adds goes along.
package struct MovedTable: Sendable, Hashable {
    /// The name of the table.
    package let name: String
    /// Its columns but those that tell of the database that they are in.
    let columns: [String]
    /// The columns of its primary key but the app's number.
    let key: [String]
    /// The column whose numbers Postgres draws. They stay as they are, for the cursors that callers hold name them.
    let number: String?

    /// The table of the app itself, which comes last: with its row the app is there.
    package static let app = "apps"

    /// The audit trail stays where it is. Its numbers are positions of a change feed, and the feed of another database has
    /// its own.
    static let staying = ["events"]

    /// The names of all of them, the app's own among them.
    static let names =
        (AppDeletionStatements.indexedTables + AppDeletionStatements.scannedTables).filter { !staying.contains($0) }
        + [app]

    /// Columns that mean something in their own database alone: another one numbers apps and events anew.
    static let localColumns = ["app_number", "events_dropped_to"]

    /// The columns of what ``MoveStatements/tables`` finds.
    static let columns = Columns(
        .one("t.name"),
        .one("array_agg(a.attname::text ORDER BY a.attnum)"),
        .one("coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attnum = ANY(k.indkey)), '{}')"),
        .one("max(a.attname::text) FILTER (WHERE a.attidentity <> '')"),
        as: MovedTable.init
    )
}

/// A row of an app that moves, as a line of a file has it: `{"table": {"column": value, …}}`, without columns that are null.
package struct MovedRow: Sendable, Hashable {
    /// The number of the line.
    package let line: Int
    /// The line.
    package let json: String

    /// Makes a row of its two parts.
    package init(line: Int, json: String) {
        self.line = line
        self.json = json
    }
}

/// A line that is no row of its table, or not the row that is there.
package struct MovedRowFault: Error, Sendable, Hashable {
    /// The number of the line.
    package let line: Int
    /// A sentence, with nothing of the row in it.
    package let reason: String
}
