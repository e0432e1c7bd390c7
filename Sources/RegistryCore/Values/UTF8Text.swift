import Foundation

/// A text whose equality, hash and order are those of its UTF-8 bytes, as in Postgres.
///
/// Swift's `String` treats canonically equivalent texts as equal: `"\u{212A}"` (KELVIN SIGN) and `"K"`, or an `é` of
/// one scalar and one of two. Names from callers are bytes, so every name that is compared, or is a key of a dictionary
/// or an element of a set, is a `UTF8Text`. Only literals convert implicitly; ``string`` is for writing and showing it.
package struct UTF8Text: Sendable {
    package let string: String
    package init(_ string: String) { self.string = string }
    package var count: Int { string.utf8.count }
    package func hasPrefix(_ prefix: UTF8Text) -> Bool { string.utf8.starts(with: prefix.string.utf8) }

    package func dropping(prefix: UTF8Text) -> UTF8Text {
        UTF8Text(String(Substring(string.utf8.dropFirst(prefix.count))))
    }
}

extension UTF8Text: Hashable, Comparable {
    package static func == (left: UTF8Text, right: UTF8Text) -> Bool {
        left.withBytes { left in right.withBytes { left.count == $0.count && compare(left, $0) == 0 } }
    }

    /// Orders by the first byte that differs, a prefix before the longer text: as `COLLATE "C"` does.
    package static func < (left: UTF8Text, right: UTF8Text) -> Bool {
        left.withBytes { left in
            right.withBytes { right in
                let order = compare(left, right)
                return order == 0 ? left.count < right.count : order < 0
            }
        }
    }

    package func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8.max)
    }

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
    package init(stringLiteral value: String) { string = value }
    package var description: String { string }
}

extension UTF8Text: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.string(string) }
}
