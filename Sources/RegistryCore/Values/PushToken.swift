/// The bytes of a push token: 1 to 512, because Apple documents no fixed length.
///
/// Only responses to senders and the database contain a complete token, so its description does not.
package struct PushToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Binary, as APNs gave it to the device.
    package let bytes: [UInt8]
    package static let maximumBytes = 512

    /// Does not check the length.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads hex of even length in upper or lower case.
    ///
    /// - Throws: A sentence that never contains the token.
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
    package var debugDescription: String { description }
}
