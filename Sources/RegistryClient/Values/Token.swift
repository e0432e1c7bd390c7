import Foundation

/// The bytes of a push token, of any length: Apple says not to assume one.
///
/// It prints as its fingerprint, so that no log, error or dump shows a token.
///
/// ```swift
/// print(Token(deviceToken))  // token 9f86d081
/// ```
public struct Token: Sendable, Hashable {
    /// The token as ActivityKit or UIKit gave it, not in hex.
    package let bytes: [UInt8]

    /// Wraps the bytes of a token; empty ones are no token, and the registry refuses them.
    public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Lower-case hex, as it travels.
    package var hexadecimal: String { bytes.map(Self.hexadecimal).joined() }

    /// The first four bytes of its SHA-256, in hex: the registry shows the same in its audit trail.
    public var fingerprint: String { SHA256.digest(of: bytes).prefix(4).map(Self.hexadecimal).joined() }

    private static func hexadecimal(_ byte: UInt8) -> String {
        String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
}

extension Token: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The fingerprint, and nothing else of the token.
    public var description: String { "token \(fingerprint)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// No children, so that `dump` shows no bytes.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension Token: Codable {
    /// Reads hex.
    ///
    /// - Throws: a `DecodingError` that does not repeat the token.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let digits = try container.decode(String.self).utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "A token is not hex.")
        }
        let values = digits.compactMap(\.self)
        self.init(stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) })
    }

    /// Writes hex. Only the outbox's file and requests hold it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(hexadecimal)
    }
}
