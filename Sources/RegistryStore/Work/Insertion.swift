import PostgresDriver

extension SQL {
    /// The insertion of a query's rows, which are read whole before any is inserted.
    ///
    /// One Postgres takes the query as it is. A distributed one sends a separate query to the app's rows, with any
    /// joins; within an insertion into a table with its own sequence, a query is restricted. The form for the latter
    /// works on both, and costs one Postgres a little more: hot paths have one for each.
    ///
    /// - Parameters:
    ///   - name: the name of the table's row in later clauses; nil if none uses it.
    ///   - columns: no constant in the query may be of an unknown type.
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
