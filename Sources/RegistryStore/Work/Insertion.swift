import PostgresDriver

extension SQL {
    /// The insertion of a query's rows, which are read whole before any is inserted.
    ///
    /// A distributed Postgres sends a separate query to the scope's rows, with any joins; within an insertion into a table with its
    /// own sequence, a query is restricted.
    ///
    /// - Parameters:
    ///   - name: the name of the table's row in later clauses; nil if none uses it.
    ///   - columns: no constant in the query may be of an unknown type.
    static func insertion(
        into table: String,
        as name: String? = nil,
        _ columns: String,
        _ rows: SQL
    ) -> SQL {
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
