import PostgresDriver

extension Registry {
    /// Lets Postgres count its rows and plan anew, after many came at once.
    ///
    /// Statements are planned once, without their parameters. A plan that was made while the tables were empty reads
    /// them whole, until autovacuum comes by: a minute later, by default. A role that does not own the tables changes nothing.
    public func renewPlans() async throws {
        try await write { session in
            try session.simple(
                """
                ANALYZE activities, token_values, activity_aliases, retired_tokens, installations, installation_aliases,
                    installation_tokens, installation_token_claims, alias_identities, alias_registrations
                """
            )
        }
    }
}
