import Foundation
import Testing

/// The Swift of the guide for app developers compiles, in Swift 6's language mode.
///
/// ActivityKit is Apple's and not here: a stand-in has what the guide uses of it, with the same names and types.
@Suite(.timeLimit(.minutes(15))) struct GuideCodeTests {
    @Test("Swift of the guide compiles") func swiftOfTheGuideCompiles() async throws {
        let directory = "/tmp/pushreg-guide-\(getpid())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let blocks = try DocumentedCommand.blocks(of: Self.guide).filter { $0.language == "swift" }
        #expect(blocks.count == 3)
        try Self.activityKit.write(toFile: directory + "/ActivityKit.swift", atomically: true, encoding: .utf8)
        var files: [String] = []
        for (index, block) in blocks.enumerated() {
            // On Linux what loads URLs is a module of its own.
            let text = (["import FoundationNetworking"] + block.lines).joined(separator: "\n")
            files.append("\(directory)/Part\(index).swift")
            try text.write(toFile: files[index], atomically: true, encoding: .utf8)
        }
        let module = try await Self.compile(
            ["-emit-module", "-module-name", "ActivityKit", "-o", directory + "/ActivityKit.swiftmodule"]
                + [directory + "/ActivityKit.swift"],
            in: directory
        )
        #expect(module.status == 0, "\(module.words)")
        let outcome = try await Self.compile(
            ["-typecheck", "-warnings-as-errors", "-I", directory] + files,
            in: directory
        )
        #expect(outcome.status == 0, "\(outcome.words)")
        try FileManager.default.removeItem(atPath: directory)
    }

    private static let guide = "Sources/WebAssets/Documentation.docc/ForAppDevelopers.md"

    /// Compiles with modules of its own: those of this machine may be another user's.
    private static func compile(_ arguments: [String], in directory: String) async throws -> Program.Outcome {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return try await Program.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            ["swiftc", "-swift-version", "6", "-parse-as-library", "-module-cache-path", directory + "/modules"]
                + arguments,
            ["PATH": path]
        )
    }

    private static let activityKit = """
        import Foundation

        public protocol ActivityAttributes: Codable, Sendable {
            associatedtype ContentState: Codable, Hashable, Sendable
        }

        public enum ActivityState: Sendable { case active, pending, stale, ended, dismissed }

        public final class Activity<Attributes: ActivityAttributes>: Identifiable, Sendable {
            public static var activities: [Activity<Attributes>] { [] }
            public static var activityUpdates: AsyncStream<Activity<Attributes>> { AsyncStream { nil } }
            public static var pushToStartTokenUpdates: AsyncStream<Data> { AsyncStream { nil } }
            public var id: String { "" }
            public var attributes: Attributes { fatalError() }
            public var activityState: ActivityState { .active }
            public var pushToken: Data? { nil }
            public var pushTokenUpdates: AsyncStream<Data> { AsyncStream { nil } }
            public var activityStateUpdates: AsyncStream<ActivityState> { AsyncStream { nil } }
        }

        public struct ActivityAuthorizationInfo {
            public init() {}
            public var frequentPushesEnabled: Bool { true }
        }
        """
}
