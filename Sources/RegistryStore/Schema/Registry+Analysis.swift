import PostgresDriver

extension Registry {
    private static let largeTables = [
        "activities", "token_values", "activity_aliases", "installations", "installation_aliases",
        "installation_tokens", "alias_identities",
    ]

    /// Updates Postgres's row counts after many rows arrived at once.
    ///
    /// A plan from a time with an empty table reads the table whole until autovacuum runs: a minute later, by default.
    /// A role that does not own the tables changes nothing.
    package func analyzeTables() async throws {
        for table in Self.largeTables {
            try await write { session in try session.simple("ANALYZE \(table)") }
        }
    }
}
