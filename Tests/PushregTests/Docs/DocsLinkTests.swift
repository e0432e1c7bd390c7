import Foundation
import TestSupport
import Testing

/// Links and pictures of the README and the guides work on a code host, where paths are relative to the page.
///
/// `DocsTests` checks the links of the pages at `/docs`.
@Suite struct DocsLinkTests {
    @Test(arguments: try DocumentedCommand.documents) func `Every link leads to a file`(_ document: String) throws {
        let page = try MarkdownPage(document)
        for target in page.targets where !target.hasPrefix("https://") {
            let (path, anchor) = Self.parts(of: target)
            #expect(!path.hasPrefix("/") && !path.contains(":"), "\(document): \(target)")
            let file = path.isEmpty ? page.file : page.file.deletingLastPathComponent().appendingPathComponent(path)
            #expect(FileManager.default.fileExists(atPath: file.path), "\(document): \(target)")
            guard let anchor, let linked = try? MarkdownPage(file) else { continue }
            let isPage = file.pathExtension == "md"
            let isThere = isPage ? linked.anchors.contains(anchor) : linked.text.contains("\"\(anchor)\"")
            #expect(isThere, "\(document): \(target)")
        }
    }

    @Test(arguments: try DocumentedCommand.documents) func `Every page is plain Markdown`(_ document: String) throws {
        let text = try MarkdownPage(document).text
        #expect(!text.contains("<doc:") && !text.contains("# ``"), "DocC's own marks are not Markdown")
    }

    @Test func `Every guide is in the list of guides`() throws {
        let documents = try DocumentedCommand.documents.filter { $0.contains("Documentation.docc/") }
        let index = try #require(documents.first { $0.hasSuffix("/README.md") })
        let names = documents.filter { $0 != index }.map { $0.components(separatedBy: "/").last ?? "" }
        #expect(try MarkdownPage(index).targets.sorted() == names.sorted())
    }

    @Test func `Every folder is on the code map`() throws {
        let readme = try MarkdownPage("README.md")
        let map = try #require(readme.text.components(separatedBy: "\n## Code map\n").last)
        let sources = DocumentedCommand.project.appendingPathComponent("Sources").path
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources).filter { $0.hasSuffix(".swift") }
        // The targets and their first-level folders.
        let rooms = Set(files.map { $0.components(separatedBy: "/").dropLast().prefix(2).joined(separator: "/") })
        for room in rooms {
            let names = room.components(separatedBy: "/")
            let target = try #require(map.components(separatedBy: "**`\(names[0])`**").dropFirst().first, "\(names[0])")
            guard names.count > 1 else { continue }
            let words = target.components(separatedBy: "\n**`").first ?? ""
            #expect(words.contains("`\(names[1])/`"), "\(room)")
        }
    }

    @Test func `Every test of a promise exists`() throws {
        let folder = DocumentedCommand.project.appendingPathComponent("Tests")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        let code = try files.filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }.joined(separator: "\n")
        let page = try MarkdownPage("Sources/WebAssets/Documentation.docc/Promises.md")
        var count = 0
        // The tests are in the last column of the tables.
        let cells = page.text.split(separator: "\n").compactMap { $0.components(separatedBy: " | ").last }
        for match in cells.joined(separator: "\n").matches(of: #/"([^"]+)"/#) {
            count += 1
            #expect(code.contains("func `\(match.1)`("))
        }
        for match in cells.joined(separator: "\n").matches(of: #/`([\w.…]+)`/#) {
            for name in match.1.split(whereSeparator: { ".…".contains($0) }) where name.contains(/[a-z][A-Z]/) {
                count += 1
                let isSuite = name.first?.isUppercase == true
                let isThere = code.contains((isSuite ? "struct " : "func ") + name) || files.contains(String(name))
                #expect(isThere, "\(match.1)")
            }
        }
        #expect(count > 100)
    }

    @Test(arguments: try DocumentedCommand.documents) func `Every named file exists`(_ document: String) throws {
        let root = DocumentedCommand.project.path
        let files = try ["Sources", "Tests", "deploy", "sql"].flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)").map { "/\(folder)/\($0)" }
        }
        let page = try MarkdownPage(document)
        for match in page.text.matches(of: #/`((?:\w+/)*[\w.]+\.swift|(?:deploy|sql|Tests/Laboratory)/[\w./-]+)`/#) {
            let name = match.1.hasSuffix("/") ? match.1.dropLast() : match.1
            #expect(files.contains { $0.hasSuffix("/" + name) }, "\(document): \(name)")
        }
    }

    private static func parts(of target: String) -> (path: String, anchor: String?) {
        let parts = target.components(separatedBy: "#")
        return (parts[0].removingPercentEncoding ?? parts[0], parts.count > 1 ? parts[1] : nil)
    }
}

/// Links and headings of a page of Markdown.
struct MarkdownPage {
    let file: URL
    let text: String
    let prose: String

    init(_ document: String) throws { try self.init(DocumentedCommand.project.appendingPathComponent(document)) }

    init(_ file: URL) throws {
        self.file = file
        text = try String(contentsOf: file, encoding: .utf8)
        prose = text.replacing(#/(?ms)^ *```.*?^ *```$/#, with: "").replacing(#/`[^`\n]*`/#, with: "code")
    }

    var targets: [String] { prose.matches(of: #/\]\(([^)\s]+)\)/#).map { String($0.1) } }

    /// The anchors that a code host gives to headings.
    var anchors: Set<String> {
        var anchors: Set<String> = []
        let outside = text.replacing(#/(?ms)^ *```.*?^ *```$/#, with: "")
        for match in outside.matches(of: #/(?m)^#{1,6} (.+)$/#) {
            let name = match.1.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
                .replacing(" ", with: "-")
            let repeated = (1...).lazy.map { "\(name)-\($0)" }.first { !anchors.contains($0) } ?? name
            anchors.insert(anchors.contains(name) ? repeated : name)
        }
        return anchors
    }
}

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
