import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct MetricsFormatTests {
    /// `deploy/test` fetches it before. Other machines may lack it.
    private static var hasPromtool: Bool {
        let places = [ProjectFiles.root.appendingPathComponent(".build/tools/promtool").path, "/usr/bin/promtool"]
        return places.contains(where: FileManager.default.isExecutableFile)
    }

    private static func check(_ text: String) async throws -> Program.Outcome {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).prom")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let promtool = ProjectFiles.root.appendingPathComponent("deploy/promtool").path
        return try await Program.run("/bin/bash", ["-c", #""$0" check metrics <"$1""#, promtool, file.path])
    }

    @Test(.enabled(if: hasPromtool)) func `promtool finds no fault in the metrics`() async throws {
        let database = try await TestDatabase.make()
        let service = try await ServiceProcess.start(on: database, "--admin-port", "0")
        try await service.makeApp()
        for number in 1...3 { #expect(try await service.register("a", number: number).status < 300) }
        let report = #"{"reports":[{"token":"0000000000000003ab","status":410,"reason":"Unregistered"}]}"#
        #expect(try await service.call("POST", "…/feedback", report).status == 200)
        let told = try await service.call("GET", "/metrics")
        #expect(told.status == 200)
        #expect(told.body.contains(#"action="dropped""#))
        let outcome = try await Self.check(told.body)
        #expect(outcome.status == 0 && outcome.results.isEmpty && outcome.words.isEmpty, "\(outcome)")
        let broken = told.body.replacing("pushreg_sweeps_total", with: "pushreg_sweeps")
        #expect(try await Self.check(broken).status != 0)
        #expect(await service.stop() == 0)
    }
}
