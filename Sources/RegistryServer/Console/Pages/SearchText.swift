import RegistryCore
import RegistryStore

/// Words and qualifiers, such as `alias:order-42`.
struct SearchText: Sendable, Hashable {
    struct Term: Sendable, Hashable {
        let name: String?
        let value: String
    }

    let terms: [Term]

    /// `search-guide.mustache` explains them.
    private static let names: Set<UTF8Text> = [
        "alias", "activity", "installation", "fingerprint", "subject", "state", "event", "since", "environment",
    ]

    /// Splits at spaces. Quotation marks keep a value together.
    init(_ text: String) {
        terms = Self.words(text).map { word in
            let halves = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, Self.names.contains(UTF8Text(halves[0].lowercased())), !halves[1].isEmpty else {
                return Term(name: nil, value: word)
            }
            return Term(name: halves[0].lowercased(), value: halves[1])
        }
    }

    subscript(name: String) -> String? { terms.last { $0.name == name }?.value }
    var bareWords: [String] { terms.filter { $0.name == nil }.map(\.value) }

    private static func words(_ text: String) -> [String] {
        let word = /(?:"[^"]*"?|[^\s"])+/.matchingSemantics(.unicodeScalar)
        let words = text.matches(of: word).map { String($0.0.unicodeScalars.filter { $0 != "\"" }) }
        return words.filter { !$0.isEmpty }
    }

    static func quoted(_ value: String) -> String {
        value.unicodeScalars.contains { $0.properties.isWhitespace } ? "\"\(value)\"" : value
    }

    /// Replaces pasted tokens with fingerprints and keys with their ids, so that the token is found and no page
    /// contains a secret. Nil if the text contains none.
    var withoutSecrets: String? {
        var hasSecret = false
        let words = terms.map { term in
            guard let name = Self.publicName(of: term) else {
                return (term.name.map { "\($0):" } ?? "") + Self.quoted(term.value)
            }
            hasSecret = true
            return name
        }
        return hasSecret ? words.joined(separator: " ") : nil
    }

    /// Skips texts of 8 hex digits, which are fingerprints, and the values of aliases and ids.
    private static func publicName(of term: Term) -> String? {
        let text = term.value
        if let key = APIKey(Secret(text)) { return key.id.rawValue }
        guard term.name == nil || term.name == "fingerprint", text.utf8.count >= 32,
            let bytes = Hexadecimal.decode(text)
        else { return nil }
        return "fingerprint:\(TokenFingerprint.text(of: Array(bytes)))"
    }
}
