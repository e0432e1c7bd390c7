import PostgresDriver
import TestSupport
import Testing

/// The program's message where a pooler mixes up the prepared statements of its callers.
@Suite struct PoolerTests {
    @Test("Statements that a pooler mixed up are told as the pooler's doing", arguments: ["42P05", "26000"])
    func mixedUpStatementsAreToldAsThePoolersDoing(_ state: String) async throws {
        let database = try await TestDatabase.make()
        try await database.pool.withSession { session in
            try session.simple(
                """
                CREATE FUNCTION mix_up() RETURNS integer LANGUAGE plpgsql AS
                    $$ BEGIN RAISE 'mixed up' USING ERRCODE = '\(state)'; END $$;
                ALTER TABLE schema_migrations RENAME TO applied;
                CREATE VIEW schema_migrations AS SELECT mix_up() AS version, name, checksum, applied_at FROM applied;
                """
            )
        }
        let outcome = try await Program.run(["migrate", "status"] + database.flags)
        #expect(outcome.status == 69)
        #expect(outcome.words.contains("max_prepared_statements"), "\(outcome.words)")
        #expect(!outcome.words.contains("not available"))
    }
}
