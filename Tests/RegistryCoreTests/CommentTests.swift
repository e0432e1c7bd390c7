import Foundation
import Testing

@Suite(.timeLimit(.minutes(15))) struct CommentTests {
    /// Pronouns that delay the subject of a definition.
    static let words = ["What", "Whatever", "Who", "Whoever", "Whose"]

    private static let kinds = ["swift": "//", "sql": "--", "py": "#", "go": "//"]

    private static func offences(in text: String, marker: String) -> [String] {
        var isInComment = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).compactMap { line in
            let line = line.drop { $0 == " " }
            guard line.hasPrefix(marker) else {
                isInComment = false
                return nil
            }
            // An empty comment line begins a new paragraph.
            defer { isInComment = line.contains(where: \.isLetter) }
            let word = line.drop { !$0.isLetter }.prefix { $0.isLetter }
            return !isInComment && words.contains(String(word)) ? String(line) : nil
        }
    }

    @Test func `No comment begins with What, Who or Whose`() throws {
        var offences: [String] = []
        var count = 0
        for folder in ["Sources", "Tests", "sql", "deploy"] {
            for (kind, marker) in Self.kinds {
                for (path, text) in try ProjectFiles.texts(in: folder, [kind]) {
                    count += 1
                    offences += Self.offences(in: text, marker: marker).map { "\(path): \($0)" }
                }
            }
        }
        #expect(count > 600)
        #expect(offences.isEmpty, "\(offences.joined(separator: "\n"))")
    }

    @Test func `Every test has a sentence as its only name`() throws {
        var (count, others) = (0, Set<String>())
        for (path, text) in try ProjectFiles.texts(in: "Tests") where !path.hasSuffix("/CommentTests.swift") {
            let named = text.matches(of: #/func `/#).count
            count += named
            if text.contains(#/@Test\(\s*"/#) || text.matches(of: #/@Test\b/#).count > named {
                others.insert(path)
            }
        }
        #expect(count > 900)
        #expect(others.isEmpty, "tests without a raw identifier, or with a second name: \(others.sorted())")
    }

    @Test(arguments: words) func `The check finds each word`(word: String) {
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
