import Foundation
import Testing

/// A reader of a comment learns from its first word what the thing is.
@Suite(.timeLimit(.minutes(15))) struct CommentTests {
    /// Words that a definition does not begin with: they promise a noun that then never comes.
    static let words = ["What", "Whatever", "Who", "Whoever", "Whose"]

    /// The files that people read, by folder and ending.
    private static let kinds = ["swift": "//", "sql": "--", "py": "#", "go": "//"]
    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The first lines of comments' paragraphs that begin with such a word.
    private static func offences(in text: String, marker: String) -> [String] {
        var isInComment = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).compactMap { line in
            let line = line.drop { $0 == " " }
            guard line.hasPrefix(marker) else {
                isInComment = false
                return nil
            }
            // An empty line of it begins a new paragraph.
            defer { isInComment = line.contains(where: \.isLetter) }
            let word = line.drop { !$0.isLetter }.prefix { $0.isLetter }
            return !isInComment && words.contains(String(word)) ? String(line) : nil
        }
    }

    @Test("No comment begins with What, Who or Whose") func definitionsBeginWithANoun() throws {
        var offences: [String] = []
        var count = 0
        for folder in ["Sources", "Tests", "sql", "deploy"] {
            let root = Self.repository.appendingPathComponent(folder)
            let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
            for case let file as URL in files {
                guard let marker = Self.kinds[file.pathExtension] else { continue }
                count += 1
                let text = try String(contentsOf: file, encoding: .utf8)
                offences += Self.offences(in: text, marker: marker).map { "\(file.lastPathComponent): \($0)" }
            }
        }
        #expect(count > 600)
        #expect(offences.isEmpty, "\(offences.joined(separator: "\n"))")
    }

    /// As its display name or as a raw identifier.
    @Test("Every test says its rule in a sentence") func testsHaveNames() throws {
        let root = Self.repository.appendingPathComponent("Tests")
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        var (named, nameless) = (0, Set<String>())
        for case let file as URL in files where file.pathExtension == "swift" && file.path != #filePath {
            let text = try String(contentsOf: file, encoding: .utf8)
            let raw = text.matches(of: #/func `/#).count
            named += text.matches(of: #/@Test\(\s*"/#).count + raw
            if text.matches(of: #/@Test\b(?!\(\s*")/#).count > raw { nameless.insert(file.lastPathComponent) }
        }
        #expect(named > 900)
        #expect(nameless.isEmpty, "tests without a name: \(nameless.sorted())")
    }

    @Test("The check sees them", arguments: words) func theCheckSeesThem(word: String) {
        let text = """
            /// \(word) is left.
            /// \(word) it is, in a second line, is another matter.
            let x = 1  // \(word)
                // \(word) comes first.
            /// The rest.
            ///
            /// \(word) begins a paragraph.
            """
        #expect(Self.offences(in: text, marker: "//").count == 3)
    }
}
