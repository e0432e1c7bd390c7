import Foundation
import TestSupport

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
        var blocks: [FencedBlock] = []
        var begun: (language: String, indent: Int, line: Int, lines: [String])?
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (index, line) in lines.enumerated() {
            let indent = line.prefix { $0 == " " }.count
            if line.dropFirst(indent).hasPrefix("```") {
                if let block = begun {
                    let above = lines[max(0, block.line - 5)..<(block.line - 1)].joined(separator: "\n")
                    blocks.append(
                        FencedBlock(language: block.language, line: block.line, lines: block.lines, introduction: above)
                    )
                    begun = nil
                } else {
                    begun = (String(line.dropFirst(indent + 3)), indent, index + 1, [])
                }
            } else if let block = begun {
                begun?.lines.append(String(line.dropFirst(min(indent, block.indent))))
            }
        }
        return blocks
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
            commands.append(
                DocumentedCommand(
                    document: document,
                    line: start,
                    text: begun.joined(separator: "\n"),
                    printed: rest,
                    introduction: block.introduction
                )
            )
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
