import PostgresDriver

extension SQL {
    /// The insertion of a query's rows, which are read whole before any is inserted.
    ///
    /// One Postgres would take the query as it is, at the same cost. A distributed one sends a query by itself to where the
    /// app's rows are, whatever it joins; as a part of an insertion into a table with a number of its own it may hold little.
    ///
    /// - Parameters:
    ///   - name: what the table's row is called in what follows; nil where nothing asks for it.
    ///   - columns: the names of the columns, of which no constant in the query may be of an unknown type.
    static func insertion(into table: String, as name: String? = nil, _ columns: String, _ rows: SQL) -> SQL {
        """
        INSERT INTO \(unescaped: table)\(unescaped: name.map { " AS \($0)" } ?? "") (
            \(unescaped: columns)
        )
        WITH given (
            \(unescaped: columns)
        ) AS MATERIALIZED (
        \(sql: rows)
        )
        SELECT * FROM given
        """
    }
}
