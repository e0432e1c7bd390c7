import Foundation
import TestSupport
import Testing

/// The README's curl lines print what stands below them.
@Suite(.timeLimit(.minutes(1))) struct ReadmeTests {
    @Test func curlLinesPrintWhatTheyPromise() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(
            databaseURL: database.connectionString,
            arguments: ["--unsafe-durability"]
        )
        try await service.makeApp()
        let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../README.md").standardizedFileURL
        let script = Self.script(in: try String(contentsOf: readme, encoding: .utf8))
        let expected = script.split(separator: "\n").filter { $0.hasPrefix("# ") }.map { $0.dropFirst(2) }
        #expect(expected.count == 8)
        let here = script.replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(service.port)")
        let outcome = try await Program.run(URL(fileURLWithPath: "/bin/bash"), ["-c", here], [:])
        #expect(outcome.results.split(separator: "\n") == expected, "\(outcome.words)")
        #expect(await service.stop() == 0)
    }

    /// The shell lines of the section with curl.
    private static func script(in readme: String) -> String {
        let section = readme.components(separatedBy: "## Five minutes with curl")[1].components(separatedBy: "\n## ")[0]
        let blocks = section.components(separatedBy: "```sh\n").dropFirst()
        return blocks.map { $0.components(separatedBy: "```")[0] }.joined()
    }
}
