/// An APNs broadcast channel (iOS 18), as a sender made it: not a token, and bound to one app and environment.
package struct BroadcastChannel: Sendable, Hashable {
    /// APNs's `message-storage-policy`, in its numbers: a channel keeps the one that it was made with.
    package enum StoragePolicy: Int, Sendable, Hashable, CaseIterable {
        /// Devices that are offline miss the message.
        case none = 0
        /// They get the most recent one.
        case mostRecent = 1
    }

    /// The id that APNs gave: base64, as it came.
    package let id: UTF8Text
    package let storagePolicy: StoragePolicy
    package static let maximumIDBytes = 128

    package init(id: String, storagePolicy: StoragePolicy) throws(JSONFaultReason) {
        self.id = UTF8Text(try Self.checked(id: id))
        self.storagePolicy = storagePolicy
    }

    /// A stored id was checked when it came, and is never refused again.
    package init(stored id: UTF8Text, storagePolicy: StoragePolicy) {
        self.id = id
        self.storagePolicy = storagePolicy
    }

    private static func checked(id: String) throws(JSONFaultReason) -> String {
        let text = Array(id.utf8)
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.count - digits.count
        guard (1...maximumIDBytes).contains(text.count) else {
            throw JSONFaultReason("must be 1 to \(maximumIDBytes) bytes of base64")
        }
        guard digits.allSatisfy(isBase64), text.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") }),
            text.count.isMultiple(of: 4), padding <= 2
        else { throw JSONFaultReason("must be a channel id in base64, as APNs gave it") }
        return id
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }

    package static func read(_ json: inout JSONReader) -> BroadcastChannel? {
        let id = json.string("channelId", checked(id:))
        let policy = json.required("messageStoragePolicy", policy)
        guard let id, let policy else { return nil }
        return try? BroadcastChannel(id: id, storagePolicy: policy)
    }

    private static func policy(_ value: JSONValue) throws(JSONFaultReason) -> StoragePolicy {
        guard let number = try? JSONReader.integer(value), let policy = StoragePolicy(rawValue: number) else {
            throw JSONFaultReason("must be 0 (no message is stored) or 1 (the most recent one is)")
        }
        return policy
    }
}

extension BroadcastChannel: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("channelId", id)
        json.member("messageStoragePolicy", storagePolicy.rawValue)
    }
}
