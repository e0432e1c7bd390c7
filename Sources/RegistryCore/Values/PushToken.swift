/// The bytes of a push token: 1 to 512, for Apple says not to assume a length.
///
/// It prints as nothing: a whole token belongs in an answer to a sender and in the database, and nowhere else.
package struct PushToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The token as APNs gave it to the device, not in hex.
    package let bytes: [UInt8]
    package static let maximumBytes = 512

    /// Wraps bytes that were checked before.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads hex of even length; upper case is accepted.
    ///
    /// - Throws: a sentence when it is not hex, empty, or longer than 512 bytes. The sentence never repeats the token.
    package init(hexadecimal: String) throws(JSONFaultReason) {
        guard hexadecimal.utf8.count <= Self.maximumBytes * 2 else {
            throw JSONFaultReason("must be at most \(Self.maximumBytes) bytes, \(Self.maximumBytes * 2) hex digits")
        }
        guard let bytes = Hexadecimal.decode(hexadecimal), !bytes.isEmpty else {
            throw JSONFaultReason("must be a push token in hex: an even number of the digits 0-9 and a-f")
        }
        self.bytes = bytes
    }

    package var description: String { "(push token of \(bytes.count) bytes)" }
    /// Debuggers and dumps do not show the token either.
    package var debugDescription: String { description }
}
