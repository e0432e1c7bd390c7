import PostgresDriver

extension Registry {
    private static let largeTables = [
        "activities", "token_values", "activity_aliases", "installations", "installation_aliases",
        "installation_tokens", "alias_identities",
    ]

    /// Run it after a bulk load. A plan made while a table was empty reads the whole table until autovacuum runs, by
    /// default a minute later. Has no effect for a role that does not own the tables.
    package func analyzeTables() async throws {
        for table in Self.largeTables {
            try await write { session in try session.simple("ANALYZE \(table)") }
        }
    }
}
