import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct RefusalTests {
    private static let role = "role_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()

    /// The last user may not read the tables.
    @Test(arguments: [
        ("user=nobody_of_ours", 77, "Postgres refuses: role \"…\" does not exist."),
        ("dbname=nowhere", 69, "Postgres is not available: database \"…\" does not exist."),
        ("user=\(role)", 77, "Postgres refuses: permission denied for table schema_migrations."),
    ])
    func `A refusal of Postgres is explained`(_ option: String, _ status: Int32, _ sentence: String) async throws {
        let database = try await TestDatabase.make()
        if option.contains(Self.role) {
            try await database.pool.withSession { session in
                let schema = try session.execute("SELECT current_schema()")[0].decode(String.self)
                try session.simple("CREATE ROLE \(Self.role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(Self.role)")
            }
        }
        // libpq uses the last value of a repeated keyword.
        let flags = ["--database-url", "\(database.connectionString) \(option)", "--unsafe-durability"]
        let outcome = try await Program.run(["apps", "list"] + flags)
        #expect(outcome.status == status)
        #expect(outcome.words == "pushreg: \(sentence)\n")
    }
}
