import PostgresDriver

extension PostgresSession {
    /// The types that the server infers for the parameters of a query, in the order of ``Query/parameters``.
    package func parameterTypes(of query: Query) throws -> [String] {
        try simple("PREPARE described AS \(query.text)")
        let types = try execute(
            "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'described'"
        )[0].decode([String].self)
        try simple("DEALLOCATE described")
        return types
    }
}
