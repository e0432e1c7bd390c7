import RegistryCore

/// Such as `application/json; charset=utf-8`.
struct MediaType: Sendable, Hashable {
    /// Lower-case.
    let name: String
    /// Lower-case names, unquoted values.
    let parameters: [UTF8Text: String]

    static let json = "application/json"
    static let problem = "application/problem+json"
    static let lines = "application/x-ndjson"

    init(_ text: String) {
        // Splits bytes, because comparing characters is far slower and every body has a type.
        let fields = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map {
            Self.trimmed(Substring($0))
        }
        name = (fields.first ?? "").lowercased()
        let pairs = fields.dropFirst().map { field in
            let halves = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = halves.count > 1 ? Self.unquoted(Self.trimmed(halves[1])) : ""
            return (UTF8Text(Self.trimmed(halves[0]).lowercased()), value)
        }
        parameters = Dictionary(pairs) { first, _ in first }
    }

    var isJSON: Bool { name == Self.json && isUTF8 }

    /// NDJSON is always UTF-8.
    var isLines: Bool { name == Self.lines && isUTF8 }

    /// Many libraries send `utf8`, which is not a registered name.
    private var isUTF8: Bool { ["utf-8", "utf8"].contains((parameters["charset"] ?? "utf-8").lowercased()) }

    private static func trimmed(_ text: Substring) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var bytes = text.utf8.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }

    private static func unquoted(_ text: String) -> String {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}
