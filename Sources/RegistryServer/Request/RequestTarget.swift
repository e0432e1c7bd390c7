import RegistryCore

/// The decoded path and query of a request.
///
/// The path is split at `/`, then each part is decoded once, so `%2F` is part of an id and not a separator.
struct RequestTarget: Sendable, Hashable {
    let parts: [String]
    let query: Query

    /// In bytes, including the query. Above every valid target.
    static let longest = 8192

    /// Above every route's number of parts. The rest stays unsplit.
    private static let mostParts = 16

    /// - Throws: `malformed-path` for bad escapes, invalid UTF-8, excessive length, and targets that are not paths.
    init(_ raw: String) throws(Problem) {
        guard raw.utf8.count <= Self.longest else {
            throw Problem(.malformedPath, "The path with its query is longer than \(Self.longest) bytes.")
        }
        // NIO replaces invalid UTF-8. No path contains its replacement either.
        var text = raw
        guard let (parts, length) = text.withUTF8(Self.split) else {
            throw Problem(.malformedPath, "The path must begin with '/' and percent-encode all except visible ASCII.")
        }
        let hasEscapes = raw.utf8.contains(UInt8(ascii: "%"))
        self.parts = hasEscapes ? try parts.map { (part) throws(Problem) in try Self.decode(part[...]) } : parts
        query = try Query(Substring(raw.utf8.dropFirst(length + 1)))
    }

    /// The undecoded parts of a path, and its length. Nil unless it begins with `/` and has only visible ASCII
    /// characters. Works on bytes, because every request pays for it, authenticated or not.
    private static func split(_ bytes: UnsafeBufferPointer<UInt8>) -> (parts: [String], length: Int)? {
        guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        var rest = bytes.dropFirst().prefix { $0 != UInt8(ascii: "?") }
        let length = rest.endIndex
        var parts: [String] = []
        parts.reserveCapacity(8)
        while parts.count < mostParts, let end = rest.firstIndex(of: UInt8(ascii: "/")) {
            parts.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
        }
        parts.append(String(decoding: rest, as: UTF8.self))
        return (parts, length)
    }

    static func decode(_ text: Substring) throws(Problem) -> String {
        // Most texts have no escapes.
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        guard let bytes = unescaped(text.utf8), let decoded = String(validating: bytes, as: UTF8.self) else {
            throw Problem(
                .malformedPath,
                "The path or query has a '%' without two hex digits after it, or bytes that are not UTF-8."
            )
        }
        return decoded
    }

    /// Nil for bad escapes. Foundation's `removingPercentEncoding` removes a byte order mark, which an id can contain.
    private static func unescaped(_ text: Substring.UTF8View) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = bytes.next().flatMap(Hexadecimal.digit), let low = bytes.next().flatMap(Hexadecimal.digit)
            else { return nil }
            decoded.append(high << 4 | low)
        }
        return decoded
    }
}

struct Query: Sendable, Hashable {
    private var values: [UTF8Text: [String]] = [:]

    /// Above every call's number of parameters.
    static let most = 64

    /// - Throws: `malformed-path` for bad escapes, invalid UTF-8, and more than ``most`` parameters.
    init(_ raw: Substring) throws(Problem) {
        // Splits bytes, because comparing characters is far slower and the caller is not authenticated yet.
        let pairs = raw.utf8.split(separator: UInt8(ascii: "&"), maxSplits: Self.most)
        guard pairs.count <= Self.most else {
            throw Problem(.malformedPath, "The query has more than \(Self.most) parameters. Send fewer.")
        }
        for pair in pairs {
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            let value = try RequestTarget.decode(Substring(pair[name.endIndex...].dropFirst()))
            values[UTF8Text(try RequestTarget.decode(Substring(name))), default: []].append(value)
        }
    }

    subscript(name: String) -> [String] { values[UTF8Text(name)] ?? [] }
}
