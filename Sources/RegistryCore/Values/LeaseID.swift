/// The id of a start lease, which the server makes anew each time that one is taken: 16 bytes, 32 digits of hex as text.
public struct LeaseID: Sendable, Hashable, CustomStringConvertible {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// - Throws: a sentence when it is not 32 digits of hex.
    public init(_ text: String) throws(JSONFaultReason) {
        guard let bytes = Hexadecimal.decode(text), bytes.count == 16 else {
            throw JSONFaultReason("must be the leaseId of a plan, 32 digits of hex")
        }
        self.bytes = bytes
    }

    /// An id that is stored.
    public init(stored bytes: [UInt8]) { self.bytes = bytes }

    /// Lower-case hex.
    public var description: String { Hexadecimal.encode(bytes) }
}
