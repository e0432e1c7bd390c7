/// A text whose equality and hash are those of its UTF-8 bytes, as the registry's are.
///
/// Swift's `String` takes canonically equivalent texts for equal; ids and names are bytes.
public struct UTF8Text: Sendable, Hashable, Codable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The same as a Swift string.
    public let string: String

    package init(_ string: String) { self.string = string }
    /// Takes a literal over.
    public init(stringLiteral value: String) { string = value }

    /// Reads a string.
    public init(from decoder: any Decoder) throws { string = try decoder.singleValueContainer().decode(String.self) }

    /// Writes a string.
    public func encode(to encoder: any Encoder) throws { try string.encode(to: encoder) }

    /// The text itself.
    public var description: String { string }

    /// The same bytes.
    public static func == (left: UTF8Text, right: UTF8Text) -> Bool {
        left.string.utf8.elementsEqual(right.string.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(Array(string.utf8)) }
}
