import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct RefusalTests {
    @Test func `An unknown user is not permitted`() async throws {
        let database = try await TestDatabase.make()
        let outcome = try await Program.run(["apps", "list"] + Self.flags(database, user: "nobody_of_ours"))
        #expect(outcome.status == 77)
        #expect(outcome.words == "pushreg: Postgres refuses: role \"…\" does not exist.\n")
    }

    @Test func `An unknown database is unavailable`() async throws {
        let database = try await TestDatabase.make()
        let flags = ["--database-url", database.connectionString + " dbname=nowhere", "--unsafe-durability"]
        let outcome = try await Program.run(["apps", "list"] + flags)
        #expect(outcome.status == 69)
        #expect(outcome.words == "pushreg: Postgres is not available: database \"…\" does not exist.\n")
    }

    @Test func `A missing privilege is not permitted`() async throws {
        let database = try await TestDatabase.make()
        let role = "role_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        try await database.pool.withSession { session in
            let schema = try session.execute("SELECT current_schema()")[0].decode(String.self)
            try session.simple("CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role)")
        }
        let outcome = try await Program.run(["apps", "list"] + Self.flags(database, user: role))
        #expect(outcome.status == 77)
        #expect(outcome.words == "pushreg: Postgres refuses: permission denied for table schema_migrations.\n")
    }

    private static func flags(_ database: TestDatabase, user: String) -> [String] {
        // libpq uses the last value of a repeated keyword.
        ["--database-url", database.connectionString + " user=\(user)", "--unsafe-durability"]
    }
}
