/// 16 random bytes, as text 32 digits of hex.
package struct LeaseID: Sendable, Hashable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(_ text: String) throws(JSONFaultReason) {
        guard let bytes = Hexadecimal.decode(text), bytes.count == 16 else {
            throw JSONFaultReason("must be the leaseId of a plan, 32 digits of hex")
        }
        self.bytes = bytes
    }

    package init(stored bytes: [UInt8]) { self.bytes = bytes }
    package var description: String { Hexadecimal.encode(bytes) }
}
