import Foundation
import TestSupport
import Testing

/// The README's curl lines print what stands below them.
@Suite(.timeLimit(.minutes(15))) struct ReadmeTests {
    @Test func curlLinesPrintWhatTheyPromise() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(
            databaseURL: database.connectionString,
            arguments: ["--unsafe-durability"]
        )
        try await service.makeApp()
        let (client, sender) = (try await Self.key("client", database), try await Self.key("sender", database))
        let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../README.md").standardizedFileURL
        let script = Self.script(in: try String(contentsOf: readme, encoding: .utf8))
        let expected = script.split(separator: "\n").filter { $0.hasPrefix("# ") }.map { $0.dropFirst(2) }
        #expect(expected.count == 8)
        let here = script.replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(service.port)")
        let outcome = try await Program.run(
            URL(fileURLWithPath: "/bin/bash"),
            ["-c", here],
            ["CLIENT_KEY": client, "SENDER_KEY": sender]
        )
        #expect(outcome.results.split(separator: "\n") == expected, "\(outcome.words)")
        #expect(await service.stop() == 0)
    }

    /// A key of the app, as `deploy/run` makes it.
    private static func key(_ role: String, _ database: TestDatabase) async throws -> String {
        let flags = ["--database-url", database.connectionString, "--unsafe-durability"]
        let outcome = try await Program.run(["keys", "create", "--app", "com.example.food", "--role", role] + flags)
        return outcome.results.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The shell lines of the section with curl.
    private static func script(in readme: String) -> String {
        let section = readme.components(separatedBy: "## Five minutes with curl")[1].components(separatedBy: "\n## ")[0]
        let blocks = section.components(separatedBy: "```sh\n").dropFirst()
        return blocks.map { $0.components(separatedBy: "```")[0] }.joined()
    }
}
