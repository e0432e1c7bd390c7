import RegistryCore

/// The target of a request: the parts of its path and its query, decoded.
///
/// The path is split at `/` first and each part is decoded once after, so `%2F` is part of an id and no separator.
struct RequestTarget: Sendable, Hashable {
    let parts: [String]
    let query: Query

    /// In bytes, with the query: more than any id, name or cursor of ours fills.
    static let longest = 8192

    /// How many parts of a path are told apart, more than any of ours has; what follows them stays together.
    private static let mostParts = 16

    /// - Throws: `malformed-path` for bad escapes, bytes that are not UTF-8, what is too long, and anything that is no path.
    init(_ raw: String) throws(Problem) {
        guard raw.utf8.count <= Self.longest else {
            throw Problem(.malformedPath, "The path with its query is longer than \(Self.longest) bytes.")
        }
        // NIO has turned bytes that are no UTF-8 into replacement characters by now; no path has a right to either.
        guard raw.utf8.first == UInt8(ascii: "/"), raw.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Problem(.malformedPath, "The path must begin with '/' and percent-encode all but visible ASCII.")
        }
        // Bytes, for characters cost far more to be told apart, and here each is one.
        let path = raw.utf8.prefix { $0 != UInt8(ascii: "?") }
        parts = try path.dropFirst()
            .split(separator: UInt8(ascii: "/"), maxSplits: Self.mostParts, omittingEmptySubsequences: false)
            .map { (part) throws(Problem) in try Self.decode(Substring(part)) }
        query = try Query(Substring(raw.utf8[path.endIndex...].dropFirst()))
    }

    /// Decodes a part of a path or a query.
    static func decode(_ text: Substring) throws(Problem) -> String {
        guard let decoded = PercentEncoding.decode(text) else {
            throw Problem(
                .malformedPath,
                "The path or query holds a '%' without two hex digits after it, or bytes that are not UTF-8."
            )
        }
        return decoded
    }
}
