import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#endif

/// The bytes of a push token, of any length. It prints as its fingerprint, so that no log, error or dump contains a token.
package struct PushToken: Sendable, Hashable, Codable {
    package let bytes: Data

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Data(bytes) }

    /// Lower-case hex, as the registry expects it.
    package var hexadecimal: String { Self.hexadecimal(bytes) }

    /// The first four bytes of its SHA-256, in hex, as the registry's audit events show it.
    package var fingerprint: String {
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

extension PushToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "token \(fingerprint)" }
    package var debugDescription: String { description }
    /// No children, so that `dump` shows no bytes.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
