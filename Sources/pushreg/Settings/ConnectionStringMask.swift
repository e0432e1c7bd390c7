import Foundation

/// Shows a libpq connection string without its passwords.
///
/// It would rather hide too much: what it cannot read, it hides whole.
enum ConnectionStringMask {
    private static let mask = "***"
    private static let secretKeywords: Set<String> = [
        "password", "sslpassword", "oauth_client_secret", "scram_client_key",
    ]

    /// The connection string, a URI or `keyword=value` pairs, with `***` in place of each password.
    static func masked(_ connectionString: String) -> String {
        for scheme in ["postgresql://", "postgres://"] where connectionString.hasPrefix(scheme) {
            return scheme + maskedURI(connectionString.dropFirst(scheme.count))
        }
        return maskedPairs(connectionString) ?? mask
    }

    // Parameters first: a password among them may hold an `@`, which would look like the end of the user's.
    private static func maskedURI(_ text: Substring) -> String {
        var shown = ""
        var rest = text
        while let separator = rest.firstIndex(where: { $0 == "?" || $0 == "&" }) {
            shown += maskedParameter(rest[..<separator]) + String(rest[separator])
            rest = rest[separator...].dropFirst()
        }
        return maskedUser(shown + maskedParameter(rest))
    }

    /// All from the first `:` to the last `@`: a password may hold either, and `/`, though it should not.
    private static func maskedUser(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@"), let colon = text[..<at].firstIndex(of: ":") else { return text }
        return text[...colon] + mask + text[at...]
    }

    private static func maskedParameter(_ parameter: Substring) -> String {
        guard let equals = parameter.firstIndex(of: "=") else { return String(parameter) }
        let keyword = parameter[..<equals].removingPercentEncoding ?? "password"
        return secretKeywords.contains(keyword) ? parameter[...equals] + mask : String(parameter)
    }

    /// Nil when the text is not a row of pairs as libpq reads them.
    private static func maskedPairs(_ text: String) -> String? {
        var shown: [String] = []
        var rest = text[...].drop(while: \.isWhitespace)
        while !rest.isEmpty {
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let keyword = rest[..<equals].trimmingCharacters(in: .whitespaces)
            // Else it is no keyword, and may be anything: a URI in quotation marks has a password before its first `=`.
            guard keyword.wholeMatch(of: /[a-z_]+/) != nil else { return nil }
            rest = rest[equals...].dropFirst().drop(while: \.isWhitespace)
            guard let value = takeValue(from: &rest) else { return nil }
            shown.append("\(keyword)=" + (secretKeywords.contains(keyword) ? mask : value))
            rest = rest.drop(while: \.isWhitespace)
        }
        return shown.joined(separator: " ")
    }

    /// Takes a value, in quotation marks or up to the next space, with backslashes as libpq reads them.
    private static func takeValue(from rest: inout Substring) -> String? {
        let isQuoted = rest.first == "'"
        var index = isQuoted ? rest.index(after: rest.startIndex) : rest.startIndex
        while index < rest.endIndex, isQuoted ? rest[index] != "'" : !rest[index].isWhitespace {
            if rest[index] == "\\" { index = rest.index(after: index) }
            guard index < rest.endIndex else { return nil }
            index = rest.index(after: index)
        }
        if isQuoted {
            guard index < rest.endIndex else { return nil }
            index = rest.index(after: index)
        }
        defer { rest = rest[index...] }
        return String(rest[..<index])
    }
}
