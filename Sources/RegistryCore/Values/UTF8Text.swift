import Foundation

/// A text that compares, sorts and hashes by its UTF-8 bytes, as in Postgres.
///
/// `String` treats canonically equivalent texts as equal, such as `"\u{212A}"` (KELVIN SIGN) and `"K"`. Names from
/// callers are compared by their bytes, so compared names, keys of dictionaries and members of sets are `UTF8Text`.
/// Only literals convert implicitly. Use ``string`` to write or show the text.
package struct UTF8Text: Sendable, Hashable, Comparable, CustomStringConvertible, ExpressibleByStringInterpolation {
    package let string: String
    package init(_ string: String) { self.string = string }
    package var count: Int { string.utf8.count }
    package func hasPrefix(_ prefix: UTF8Text) -> Bool { string.utf8.starts(with: prefix.string.utf8) }

    package func dropping(prefix: UTF8Text) -> UTF8Text {
        UTF8Text(String(Substring(string.utf8.dropFirst(prefix.count))))
    }

    package static func == (left: UTF8Text, right: UTF8Text) -> Bool {
        left.withBytes { left in right.withBytes { left.count == $0.count && compare(left, $0) == 0 } }
    }

    /// The order of Postgres's `COLLATE "C"`.
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

    /// Without a copy for native strings, because they are contiguous.
    private func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        string.utf8.withContiguousStorageIfAvailable(body) ?? Array(string.utf8).withUnsafeBufferPointer(body)
    }

    package init(stringLiteral value: String) { string = value }
    package var description: String { string }
}

extension UTF8Text: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.string(string) }
}
