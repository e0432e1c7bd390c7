import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#endif

/// The bytes of a push token, of any length: Apple says not to assume one.
///
/// It prints as its fingerprint, so that no log, error or dump shows a token.
///
/// ```swift
/// print(Token(deviceToken))  // token 9f86d081
/// ```
public struct Token: Sendable, Hashable, Codable {
    /// The token as ActivityKit or UIKit gave it, not in hex.
    package let bytes: Data

    /// Wraps the bytes of a token; empty ones are no token, and the registry refuses them.
    public init(_ bytes: some Sequence<UInt8>) { self.bytes = Data(bytes) }

    /// Lower-case hex, as it travels.
    package var hexadecimal: String { Self.hexadecimal(bytes) }

    /// The first four bytes of its SHA-256, in hex: the registry shows the same in its audit trail.
    public var fingerprint: String {
        #if canImport(CryptoKit)
            Self.hexadecimal(SHA256.hash(data: bytes).prefix(4))
        #else
            "of \(bytes.count) bytes"
        #endif
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
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
