/// A text whose equality and hash are those of its UTF-8 bytes, as the registry's are.
///
/// Swift's `String` takes canonically equivalent texts for equal; ids and names are bytes.
package struct UTF8Text: Sendable, Hashable, Codable, ExpressibleByStringInterpolation, CustomStringConvertible {
    package let string: String

    package init(_ string: String) { self.string = string }
    package init(stringLiteral value: String) { string = value }

    package init(from decoder: any Decoder) throws { string = try decoder.singleValueContainer().decode(String.self) }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }

    package var description: String { string }

    package static func == (left: UTF8Text, right: UTF8Text) -> Bool {
        left.string.utf8.elementsEqual(right.string.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in string.utf8 { hasher.combine(byte) }
        hasher.combine(UInt8.max)
    }
}
