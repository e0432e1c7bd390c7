import Foundation

/// A text whose equality, hash and order are those of its UTF-8 bytes, as Postgres's are.
///
/// Swift's `String` takes canonically equivalent texts for equal: `"\u{212A}"` (KELVIN SIGN) and `"K"`, or an `é` of one
/// scalar and one of two. What callers name is bytes, so whatever of it is compared, or is a key of a dictionary or an
/// element of a set, is one of these. Only literals become one by themselves; ``string`` is for what writes or shows it.
package struct UTF8Text: Sendable {
    /// The same text, as Swift has it.
    package let string: String

    /// Makes a text that compares by its bytes.
    package init(_ string: String) { self.string = string }

    /// How many bytes it has.
    package var count: Int { string.utf8.count }

    /// Whether it begins with the bytes of a text.
    package func hasPrefix(_ prefix: UTF8Text) -> Bool { string.utf8.starts(with: prefix.string.utf8) }

    /// The text after some bytes that ``hasPrefix(_:)`` found.
    package func dropping(prefix: UTF8Text) -> UTF8Text {
        UTF8Text(String(Substring(string.utf8.dropFirst(prefix.count))))
    }
}

extension UTF8Text: Hashable, Comparable {
    /// Whether the bytes are the same.
    package static func == (left: UTF8Text, right: UTF8Text) -> Bool {
        left.withBytes { left in right.withBytes { left.count == $0.count && compare(left, $0) == 0 } }
    }

    /// Orders by the first byte that differs, the shorter text before those that it begins: as `COLLATE "C"` does.
    package static func < (left: UTF8Text, right: UTF8Text) -> Bool {
        left.withBytes { left in
            right.withBytes { right in
                let order = compare(left, right)
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }

    /// Hashes the bytes, and their end.
    package func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8.max)
    }

    /// Compares as many bytes as both have.
    private static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard let first = left.baseAddress, let second = right.baseAddress else { return 0 }
        return memcmp(first, second, min(left.count, right.count))
    }

    /// In place: a string of Swift's own has its bytes in one piece, and any other is copied.
    private func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        string.utf8.withContiguousStorageIfAvailable(body) ?? Array(string.utf8).withUnsafeBufferPointer(body)
    }
}

extension UTF8Text: CustomStringConvertible, ExpressibleByStringInterpolation {
    /// Makes the text of a literal.
    package init(stringLiteral value: String) { string = value }

    /// The text itself.
    package var description: String { string }
}

extension UTF8Text: JSONEncodable {
    /// Writes a string.
    package func encode(to json: inout JSONWriter) { json.string(string) }
}
