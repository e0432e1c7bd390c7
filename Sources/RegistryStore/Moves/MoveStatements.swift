import PostgresDriver
import RegistryCore

/// The statements that read an app's rows out of one database and put them into another.
enum MoveStatements {
    /// The tables, as the database has them.
    static let tables: SQL = """
        SELECT \(MovedTable.columns)
        FROM unnest(\(MovedTable.names)) AS t (name)
        JOIN pg_attribute a ON a.attrelid = to_regclass(t.name) AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attname <> ALL(\(MovedTable.localColumns))
        JOIN pg_index k ON k.indrelid = a.attrelid AND k.indisprimary
        GROUP BY t.name
        """

    // MARK: Out

    /// Makes all that a transaction reads be of one moment, however long it takes, and however slowly somebody reads along.
    static let oneMoment: [SQL] = [
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        """
        SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
            set_config('bytea_output', 'hex', true), set_config('intervalstyle', 'postgres', true)
        """,
    ]

    static func number(of bundleID: BundleID) -> SQL {
        "SELECT app_number FROM apps WHERE bundle_id = \(bundleID.rawValue)"
    }

    /// Begins to read the rows of an app. Null members go, those of the columns alone: one within metadata is the app's.
    static func rows(of table: MovedTable, ofApp number: Int64) -> SQL {
        """
        DECLARE moved NO SCROLL CURSOR FOR
        SELECT (
            SELECT jsonb_object_agg(field.key, field.value)
            FROM jsonb_each(to_jsonb(r) - \(unescaped: array(MovedTable.localColumns))) AS field
            WHERE field.value <> 'null'
        )
        FROM \(unescaped: table.name) r WHERE r.app_number = \(number)
        """
    }

    static let nextRows: SQL = "FETCH 1000 FROM moved"
    static let closeRows: SQL = "CLOSE moved"

    // MARK: In

    /// Gives the app that is to come a number, of which rows may be there for another day. Whatever becomes of the import, a
    /// sweep deletes rows that belong to no app.
    static let reserve: SQL = """
        INSERT INTO deleted_apps (app_number, deleted_at)
        VALUES (nextval(pg_get_serial_sequence('apps', 'app_number')), \(sql: dayFromNow)) RETURNING app_number
        """

    /// Gives it another day, unless its last one is over.
    static func keep(_ number: Int64) -> SQL {
        "UPDATE deleted_apps SET deleted_at = \(sql: dayFromNow) WHERE app_number = \(number) AND deleted_at > now()"
    }

    /// Lets the next sweep delete its rows.
    static func abandon(_ number: Int64) -> SQL {
        "UPDATE deleted_apps SET deleted_at = now() WHERE app_number = \(number) AND deleted_at > now()"
    }

    private static let dayFromNow: SQL = "now() + interval '1 day'"

    /// How many lines have something that the table has not.
    static func strangers(in rows: [MovedRow], of table: MovedTable) -> SQL {
        """
        SELECT count(*) FROM unnest(\(rows.map(\.json))) AS given (line)
        WHERE given.line::jsonb - '\(unescaped: table.name)' <> '{}'
            OR (given.line::jsonb -> '\(unescaped: table.name)') - \(unescaped: array(table.columns)) <> '{}'
        """
    }

    /// Reads lines as rows, and counts them.
    static func reading(_ rows: [MovedRow], of table: MovedTable) -> SQL {
        "SELECT count(to_jsonb(r)) FROM \(sql: lines(rows, of: table))"
    }

    /// Adds rows. One that is there stays: it came by an attempt before.
    static func insertion(_ rows: [MovedRow], into table: MovedTable, ofApp number: Int64) -> SQL {
        """
        \(sql: insertion(into: table, ofApp: number))
        FROM \(sql: lines(rows, of: table))
        ON CONFLICT DO NOTHING
        """
    }

    /// Adds the app itself, unless there is one of its name.
    static func insertion(_ row: MovedRow, into apps: MovedTable, named bundleID: BundleID, number: Int64) -> SQL {
        """
        \(sql: insertion(into: apps, ofApp: number))
        FROM \(sql: lines([row], of: apps)) WHERE r.bundle_id = \(bundleID.rawValue)
        ON CONFLICT (bundle_id) DO NOTHING
        """
    }

    private static func insertion(into table: MovedTable, ofApp number: Int64) -> SQL {
        """
        INSERT INTO \(unescaped: table.name) (app_number, \(unescaped: table.columns.joined(separator: ", ")))
        OVERRIDING SYSTEM VALUE
        SELECT \(number), \(unescaped: table.columns.map { "r.\($0)" }.joined(separator: ", "))
        """
    }

    /// It is to be deleted no more, if it was not yet.
    static func release(_ number: Int64) -> SQL {
        "DELETE FROM deleted_apps WHERE app_number = \(number) AND deleted_at > now()"
    }

    /// The place of the first line whose row is not there as it stands in the line, counted from 1.
    static func difference(_ rows: [MovedRow], from table: MovedTable, ofApp number: Int64) -> SQL {
        let key = table.name == MovedTable.app ? ["bundle_id"] : table.key
        return """
            SELECT given.place FROM \(sql: lines(rows, of: table))
            WHERE NOT EXISTS (
                SELECT FROM \(unescaped: table.name) t
                WHERE t.app_number = \(number) AND \(unescaped: key.map { "t.\($0) = r.\($0)" }.joined(separator: " AND "))
                    AND to_jsonb(t) - \(unescaped: array(MovedTable.localColumns))
                        = to_jsonb(r) - \(unescaped: array(MovedTable.localColumns))
            )
            ORDER BY given.place LIMIT 1
            """
    }

    private static func lines(_ rows: [MovedRow], of table: MovedTable) -> SQL {
        """
        unnest(\(rows.map(\.json))) WITH ORDINALITY AS given (line, place)
        CROSS JOIN LATERAL jsonb_populate_record(
            NULL::\(unescaped: table.name), given.line::jsonb -> '\(unescaped: table.name)'
        ) AS r
        """
    }

    /// Counting may read all of a table.
    static let withoutTimeLimit: SQL = "SELECT set_config('statement_timeout', '0', true)"

    /// How many rows of an app there are, and the greatest of the numbers that Postgres drew for them.
    static func count(_ table: MovedTable, ofApp number: Int64) -> SQL {
        """
        SELECT count(*), max(\(unescaped: table.number.map { "r.\($0)" } ?? "NULL::bigint"))
        FROM \(unescaped: table.name) r WHERE r.app_number = \(number)
        """
    }

    /// Whether Postgres would draw a number again that came from elsewhere.
    static func isBehind(_ sequence: MovedSequence, _ last: Int64) -> SQL {
        "SELECT s.last_value < \(last) FROM \(unescaped: sequence.name) s"
    }

    /// Keeps others from drawing numbers until the transaction ends: all draw them to add rows, and have that lock until they
    /// are done.
    static func lock(_ sequence: MovedSequence) -> SQL {
        "LOCK TABLE \(unescaped: sequence.table) IN SHARE ROW EXCLUSIVE MODE"
    }

    /// Lets Postgres draw later numbers from now on; never earlier ones.
    static func raise(_ sequence: MovedSequence, to last: Int64) -> SQL {
        "SELECT setval('\(unescaped: sequence.name)', \(last)) FROM \(unescaped: sequence.name) s WHERE s.last_value < \(last)"
    }

    /// A constant of names of our own.
    private static func array(_ names: [String]) -> String {
        "ARRAY[\(names.map { "'\($0)'" }.joined(separator: ", "))]"
    }
}

/// The sequence from which a table's numbers are drawn.
struct MovedSequence: Sendable, Hashable {
    let table: String
    let name: String

    /// The sequence of a table; nil where it has none.
    init?(_ table: MovedTable) {
        guard let number = table.number else { return nil }
        // The name that Postgres gives the sequence of an identity column.
        (self.table, name) = (table.name, "\(table.name)_\(number)_seq")
    }
}
