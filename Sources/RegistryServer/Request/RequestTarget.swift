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
        guard let path = text.withUTF8(Path.init) else {
            throw Problem(.malformedPath, "The path must begin with '/' and percent-encode all except visible ASCII.")
        }
        parts =
            path.hasEscapes ? try path.parts.map { (part) throws(Problem) in try Self.decode(part[...]) } : path.parts
        query = try Query(Substring(raw.utf8.dropFirst(path.length + 1)))
    }

    /// The undecoded parts of a path. One pass over bytes, because every request pays for it, authenticated or not.
    private struct Path {
        private(set) var parts: [String] = []
        private(set) var hasEscapes = false
        private(set) var length: Int

        /// Nil unless it begins with `/` and has only visible ASCII characters.
        init?(_ bytes: UnsafeBufferPointer<UInt8>) {
            guard bytes.first == UInt8(ascii: "/") else { return nil }
            parts.reserveCapacity(8)
            length = bytes.count
            let (slash, question, percent) = (UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "%"))
            var (start, index, isInPath) = (1, 1, true)
            while index < bytes.count {
                let byte = bytes[index]
                guard byte > 0x20, byte < 0x7F else { return nil }
                if isInPath {
                    if byte == slash, parts.count < RequestTarget.mostParts {
                        parts.append(String(decoding: bytes[start..<index], as: UTF8.self))
                        start = index + 1
                    } else if byte == percent {
                        hasEscapes = true
                    } else if byte == question {
                        (length, isInPath) = (index, false)
                    }
                }
                index += 1
            }
            parts.append(String(decoding: bytes[start..<length], as: UTF8.self))
        }
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
    private struct Parameter: Sendable, Hashable {
        let name: UTF8Text
        let value: String
    }

    private let parameters: [Parameter]

    /// Above every call's number of parameters.
    static let most = 64

    /// - Throws: `malformed-path` for bad escapes, invalid UTF-8, and more than ``most`` parameters.
    init(_ raw: Substring) throws(Problem) {
        // Splits bytes, because comparing characters is far slower and the caller is not authenticated yet.
        let pairs = raw.utf8.split(separator: UInt8(ascii: "&"), maxSplits: Self.most)
        guard pairs.count <= Self.most else {
            throw Problem(.malformedPath, "The query has more than \(Self.most) parameters. Send fewer.")
        }
        parameters = try pairs.map { (pair) throws(Problem) in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return Parameter(
                name: UTF8Text(try RequestTarget.decode(Substring(name))),
                value: try RequestTarget.decode(Substring(pair[name.endIndex...].dropFirst()))
            )
        }
    }

    subscript(name: String) -> [String] { parameters.filter { $0.name == UTF8Text(name) }.map(\.value) }
}
