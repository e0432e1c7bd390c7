import Foundation
import TestSupport
import Testing

/// The Swift code of the guides for app developers compiles with the client in Swift 6 mode.
///
/// Stubs replace ActivityKit, UIKit and WidgetKit.
@Suite(.timeLimit(.minutes(15))) struct GuideCodeTests {
    @Test func `The Swift code of the guides compiles`() async throws {
        let directory = "/tmp/pushreg-guide-\(getpid())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for (module, place, version) in Self.modules {
            let arguments = [
                "-emit-module", "-module-name", module, "-package-name", "client", "-swift-version", version, "-I",
                directory, "-o", "\(directory)/\(module).swiftmodule",
            ]
            let outcome = try await Self.compile(arguments + Self.sources(below: place), in: directory)
            #expect(outcome.status == 0, "\(module): \(outcome.words)")
        }
        let blocks = try Self.guides.flatMap { guide in
            try DocumentedCommand.blocks(of: "Sources/WebAssets/Documentation.docc/\(guide).md")
                .filter { $0.language == "swift" }
        }
        #expect(blocks.count == 7)
        for (index, block) in blocks.enumerated() {
            let path = "\(directory)/Block\(index).swift"
            try Self.program(block.lines).write(toFile: path, atomically: true, encoding: .utf8)
            let outcome = try await Self.compile(
                ["-typecheck", "-warnings-as-errors", "-swift-version", "6", "-I", directory, path],
                in: directory
            )
            #expect(outcome.status == 0, "\(block.lines.joined(separator: "\n"))\n\(outcome.words)")
        }
    }

    private static let guides = ["ForAppDevelopers", "ReactNativeAndFlutter"]

    /// Each module follows the modules that it imports.
    private static let modules = [
        ("ActivityKit", "Tests/ActivityKitStandIn", "5"), ("UIKit", "Tests/UIKitStandIn", "6"),
        ("WidgetKit", "Tests/WidgetKitStandIn", "6"), ("PushTokenRegistry", "Sources/PushTokenRegistry", "6"),
    ]

    private static func sources(below place: String) -> [String] {
        let files = FileManager.default.enumerator(atPath: place)?.compactMap { $0 as? String } ?? []
        return files.filter { $0.hasSuffix(".swift") }.sorted().map { "\(place)/\($0)" }
    }

    /// Wraps the lines in a function of an app that has attributes, a session and a client.
    private static func program(_ lines: [String]) -> String {
        let statements = lines.filter { !$0.hasPrefix("import ") }.joined(separator: "\n    ")
        return """
            import ActivityKit
            import Foundation
            import PushTokenRegistry

            struct RideAttributes: ActivityAttributes {
                struct ContentState: Codable, Hashable, Sendable {}
                let rideID: String
            }

            struct Session: Sendable {
                func jwt() async throws -> String? { nil }
            }

            func launch(_ registry: LiveActivityRegistry, _ session: Session) async throws {
                \(statements)
            }
            """
    }

    /// Uses its own module cache, because another user may own the machine's.
    private static func compile(_ arguments: [String], in directory: String) async throws -> Program.Outcome {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return try await Program.run(
            "/usr/bin/env",
            ["swiftc", "-parse-as-library", "-module-cache-path", directory + "/modules"] + arguments,
            ["PATH": path]
        )
    }
}
