import PostgresDriver

extension Registry {
    private static let largeTables = [
        "activities", "token_values", "activity_aliases", "former_claims", "installations", "installation_aliases",
        "installation_tokens", "installation_token_claims", "alias_identities", "alias_registrations",
    ]

    /// Lets Postgres count its rows, after many came at once.
    ///
    /// A plan that was made while a table was empty reads it whole, until autovacuum comes by: a minute later, by default. A
    /// role that does not own the tables changes nothing.
    package func analyzeTables() async throws {
        for table in Self.largeTables {
            try await write { session in try session.simple("ANALYZE \(table)") }
        }
    }
}
