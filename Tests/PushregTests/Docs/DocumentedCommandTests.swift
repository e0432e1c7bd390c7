import Foundation
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.serialized, .timeLimit(.minutes(30))) struct DocumentedCommandTests {
    @Test func `Every code block names its language`() throws {
        let known: Set<String> = ["sh", "swift", "python", "json", "yaml", "text", "mermaid", "xml", "sql"]
        for document in try DocumentedCommand.documents {
            for block in try DocumentedCommand.blocks(of: document) {
                #expect(known.contains(block.language), "\(document):\(block.line)")
                let isShell = block.lines.contains { $0.contains(#/^(sudo |curl |pushreg |deploy/)/#) }
                #expect(!isShell || block.language == "sh", "\(document):\(block.line)")
            }
        }
    }

    @Test func `Commands that are not run are marked as untested`() async throws {
        var matched: Set<String> = []
        for document in try DocumentedCommand.documents {
            for command in try await DocumentedCommand.all(of: document) {
                guard let untried = UntriedCommand.matching(command) else { continue }
                matched.insert(untried.beginning)
                #expect(untried.runsElsewhere || command.introduction.contains("untested"), "\(command.place)")
            }
        }
        #expect(matched == Set(UntriedCommand.all.map(\.beginning)), "every listed command must be on a page")
    }

    private static let withService = ["ForAppDevelopers.md", "ForSenders.md"]
    private static let withApp = [
        "MovingRegistrations.md", "RunningInProduction.md", "BackupAndRestore.md", "ComingFromElsewhere.md",
    ]

    @Test(arguments: try DocumentedCommand.documents)
    func `Every documented command prints the documented output`(_ document: String) async throws {
        let commands = try await DocumentedCommand.all(of: document).filter { UntriedCommand.matching($0) == nil }
        guard !commands.isEmpty else { return }
        let session = try await CommandSession.make()
        var before: [String] = []
        if Self.withService.contains(where: document.hasSuffix) { before.append("deploy/run") }
        if Self.withApp.contains(where: document.hasSuffix) {
            before += ["pushreg migrate", "pushreg apps create com.example.food"]
        }
        if document.hasSuffix("ComingFromElsewhere.md") { before += RecipeTables.commands }
        let outcomes = try await session.run(before + commands.map(\.text))
        for (text, outcome) in zip(before, outcomes) { #expect(outcome.status == 0, "\(text): \(outcome.words)") }
        for (command, outcome) in zip(commands, outcomes.dropFirst(before.count)) {
            #expect(outcome.status == 0, "\(command.place)\n\(outcome.results)\(outcome.words)")
            guard !command.printed.isEmpty else { continue }
            let printed = outcome.results.split(separator: "\n").map(String.init)
            #expect(printed == command.printed, "\(command.place)\n\(outcome.words)")
        }
        await session.remove()
    }

    @Test func `The service accepts the examples of the reference`() async throws {
        let session = try await CommandSession.make()
        let tags = ["Everyone", "Clients", "Senders", "Admins"]
        // The other operations need the app.
        let operations = tags.flatMap(APIDocument.embedded.operations).filter { $0.id != "deleteApp" }
        let keys = ["client", "sender", "auditor", "admin"].map { role in
            "\(role.uppercased())_KEY=$(pushreg keys create --app com.example.food --role \(role))"
        }
        let before =
            ["pushreg migrate", "pushreg apps create com.example.food"] + keys + [
                "ROOT_KEY=$(pushreg keys create --role root)", "pushreg serve", "service=http://127.0.0.1:8080",
            ]
        let calls = operations.map { operation in "curl -sS -w '\\n%{http_code}'" + operation.curl.dropFirst(4) }
        let outcomes = try await session.run(before + calls)
        for (text, outcome) in zip(before, outcomes) { #expect(outcome.status == 0, "\(text): \(outcome.words)") }
        for (operation, outcome) in zip(operations, outcomes.dropFirst(before.count)) {
            let status = Int(outcome.results.suffix(3)) ?? 0
            // These problems are accepted: records of the examples may be missing or ended, their times may be ahead of
            // the machine's clock, and a user's own alias needs their JWT instead of the key.
            let isUnderstood = (200..<300).contains(status) || [404, 409, 410].contains(status)
            let isLacking = status == 404 && outcome.results.contains(#/"(no-such-route|unknown-app)"/#)
            let isOther = outcome.results.contains(#/"(clock-skew|alias-not-allowed)"/#)
            #expect(isUnderstood && !isLacking || isOther, "\(operation.id): \(outcome.results)\(outcome.words)")
        }
        await session.remove()
    }
}

struct DocumentedCommand: Sendable {
    let document: String
    let line: Int
    let text: String
    /// The output in the comments below; empty if any output is allowed.
    let printed: [String]
    /// The lines above the block, which can mark it as untested.
    let introduction: String
    var place: String { "\(document):\(line): \(text)" }
}

struct FencedBlock: Sendable {
    let language: String
    let line: Int
    let lines: [String]
    let introduction: String

    /// The blocks of a page, including those in lists.
    static func all(in text: String) -> [FencedBlock] {
        text.matches(of: #/(?ms)^( *)```([^\n]*)\n(.*?)^ *```$/#).map { match in
            let above = lines(of: text[..<match.range.lowerBound])
            let lines = lines(of: match.3).map { line in
                String(line.dropFirst(min(match.1.count, line.prefix { $0 == " " }.count)))
            }
            let introduction = above.suffix(4).joined(separator: "\n")
            let (language, line) = (String(match.2), above.count + 1)
            return FencedBlock(language: language, line: line, lines: lines, introduction: introduction)
        }
    }

    private static func lines(of text: Substring) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }
}

extension DocumentedCommand {
    static let project = ProjectFiles.root
    private static let catalog = "Sources/WebAssets/Documentation.docc/"

    static var documents: [String] {
        get throws {
            let guides = try FileManager.default.contentsOfDirectory(atPath: project.path + "/" + catalog)
            return ["README.md"] + guides.filter { $0.hasSuffix(".md") }.sorted().map { catalog + $0 }
                + ["Tests/Laboratory/README.md"]
        }
    }

    static func blocks(of document: String) throws -> [FencedBlock] {
        let text = try String(contentsOf: project.appendingPathComponent(document), encoding: .utf8)
        return FencedBlock.all(in: text)
    }

    static func all(of document: String) async throws -> [DocumentedCommand] {
        var commands: [DocumentedCommand] = []
        for block in try blocks(of: document) where block.language == "sh" {
            commands += try await all(of: block, in: document)
        }
        return commands
    }

    private static func all(of block: FencedBlock, in document: String) async throws -> [DocumentedCommand] {
        var commands: [DocumentedCommand] = []
        var begun: [String] = []
        var start = 0
        for (offset, line) in (block.lines + [""]).enumerated() {
            if begun.isEmpty {
                guard !line.isEmpty, !line.hasPrefix("#") else { continue }
                start = block.line + 1 + offset
            }
            begun.append(line)
            guard try await isWhole(begun) else { continue }
            let rest = block.lines.dropFirst(offset + 1).prefix { $0.hasPrefix("# ") }.map { String($0.dropFirst(2)) }
            let (text, introduction) = (begun.joined(separator: "\n"), block.introduction)
            commands += [Self(document: document, line: start, text: text, printed: rest, introduction: introduction)]
            begun = []
        }
        return commands
    }

    /// Whether the lines form a complete command for bash.
    private static func isWhole(_ lines: [String]) async throws -> Bool {
        guard let last = lines.last, !last.hasSuffix("\\"), !last.hasSuffix("|") else { return false }
        let text = lines.joined(separator: "\n")
        return try await Program.run("/bin/bash", ["-n", "-c", text]).status == 0
    }
}
