/// The id of a start lease, which the server makes anew each time that one is taken: 16 bytes, 32 digits of hex as text.
package struct LeaseID: Sendable, Hashable, CustomStringConvertible {
    /// 16 bytes.
    package let bytes: [UInt8]

    /// - Throws: a sentence when it is not 32 digits of hex.
    package init(_ text: String) throws(JSONFaultReason) {
        guard let bytes = Hexadecimal.decode(text), bytes.count == 16 else {
            throw JSONFaultReason("must be the leaseId of a plan, 32 digits of hex")
        }
        self.bytes = bytes
    }

    /// An id that is stored.
    package init(stored bytes: [UInt8]) { self.bytes = bytes }

    /// Lower-case hex.
    package var description: String { Hexadecimal.encode(bytes) }
}
