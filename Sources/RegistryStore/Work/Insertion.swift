import PostgresDriver

extension SQL {
    /// The insertion of a query's rows, which are read whole before any is inserted.
    ///
    /// One Postgres takes the query as it is. A distributed one sends a query by itself to where the app's rows are, whatever it
    /// joins; as a part of an insertion into a table with a number of its own it may hold little. Written for that one, a statement
    /// serves both, and costs one Postgres a little more: hot paths have one for each.
    ///
    /// - Parameters:
    ///   - name: what the table's row is called in what follows; nil where nothing asks for it.
    ///   - columns: the names of the columns, of which no constant in the query may be of an unknown type.
    ///   - isDistributed: whether a distributed Postgres may get the statement.
    static func insertion(
        into table: String,
        as name: String? = nil,
        _ columns: String,
        _ rows: SQL,
        isDistributed: Bool = true
    ) -> SQL {
        let target: SQL = """
            INSERT INTO \(unescaped: table)\(unescaped: name.map { " AS \($0)" } ?? "") (
                \(unescaped: columns)
            )
            """
        guard isDistributed else { return "\(sql: target)\n\(sql: rows)" }
        return """
            \(sql: target)
            WITH given (
                \(unescaped: columns)
            ) AS MATERIALIZED (
            \(sql: rows)
            )
            SELECT * FROM given
            """
    }
}
