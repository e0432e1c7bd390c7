import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Runs the migration guide's commands unchanged: senders find the tokens of the source tables.
@Suite(
    .transfer,
    .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "there is no /usr/bin/python3")
)
struct RecipeTests {
    private static let document = "Sources/WebAssets/Documentation.docc/ComingFromElsewhere.md"

    @Test(arguments: ["UTC", "America/New_York"])
    func `Senders find the tokens of an app's own table`(_ timeZone: String) async throws {
        let scope = try await database.scope("com.example.food", .production)
        let commands = try await DocumentedCommand.all(of: Self.document).map(\.text)
        #expect(commands.count == 11)
        let script = ["set -eu", "cd \(file.directory)"] + RecipeTables.commands + commands
        let outcome = try await Program.run(
            "/bin/bash",
            ["-c", script.joined(separator: "\n")],
            [
                "PATH": "\(Program.executable.deletingLastPathComponent().path):/usr/bin:/bin", "PGTZ": timeZone,
                "OWN_DATABASE": database.connectionString, "DATABASE_URL": database.connectionString,
                "PUSHREG_UNSAFE_DURABILITY": "true",
            ]
        )
        #expect(outcome.status == 0, "\(outcome.results)\(outcome.words)")
        try await Self.checkActivities(database, scope)
        try await Self.checkDevices(database, scope)
    }

    private static func checkActivities(_ database: TestDatabase, _ scope: Scope) async throws {
        func tokens(_ kind: String, _ value: String) async throws -> [ResolvedActivity] {
            try await database.registry.activities(under: .sample(kind, value), limit: 9, in: scope)
        }
        let first = try await tokens("liveactivityId", RecipeTables.order)
        #expect(first.map { Hexadecimal.encode($0.token.bytes) } == ["aa01"])
        #expect(try await tokens("liveactivityId", "order-2").map { Hexadecimal.encode($0.token.bytes) } == ["aa02"])
        #expect(try await tokens("liveactivityId", "order-3").isEmpty)
        let user = try await tokens("userId", RecipeTables.user)
        #expect(user.map { Hexadecimal.encode($0.token.bytes) } == ["bb01"])
        #expect(try await tokens("liveactivityId", "match-7") == user)
        let age = Date().timeIntervalSince(try #require(user.first).startedAt)
        #expect((3600..<4500).contains(age))
    }

    private static func checkDevices(_ database: TestDatabase, _ scope: Scope) async throws {
        for (user, tokens) in [(RecipeTables.user, ["cc01", "cc02"]), ("u-csv", ["dd01"]), ("u-sns", ["ee01"])] {
            let found = try await database.registry.tokens(under: .sample("userId", user), .device, limit: 9, in: scope)
            #expect(found.map { Hexadecimal.encode($0.token.bytes) }.sorted() == tokens)
        }
    }
}
