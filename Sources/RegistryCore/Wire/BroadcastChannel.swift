/// An APNs broadcast channel (iOS 18). It is not a token. It belongs to one app and environment.
package struct BroadcastChannel: Sendable, Hashable, JSONObjectEncodable {
    /// The values of APNs's `message-storage-policy`. The policy of a channel never changes.
    package enum StoragePolicy: Int, Sendable, Hashable, CaseIterable {
        /// Offline devices miss the message.
        case none = 0
        /// Offline devices get the latest message.
        case mostRecent = 1
    }

    /// The base64 text from APNs, unchanged.
    package let id: UTF8Text
    package let storagePolicy: StoragePolicy
    package static let maximumIDBytes = 128

    package init(stored id: UTF8Text, storagePolicy: StoragePolicy) {
        self.id = id
        self.storagePolicy = storagePolicy
    }

    package static func id(_ id: String) throws(JSONFaultReason) -> UTF8Text {
        guard (1...maximumIDBytes).contains(id.utf8.count) else {
            throw JSONFaultReason("must be 1 to \(maximumIDBytes) bytes of base64")
        }
        guard id.utf8.count.isMultiple(of: 4), id.wholeMatch(of: /[A-Za-z0-9+\/]+={0,2}/) != nil else {
            throw JSONFaultReason("must be a channel id in base64, as APNs gave it")
        }
        return UTF8Text(id)
    }

    package static func read(_ json: inout JSONReader) -> BroadcastChannel? {
        let id = json.string("channelId", Self.id)
        let policy = json.required("messageStoragePolicy", policy)
        guard let id, let policy else { return nil }
        return BroadcastChannel(stored: id, storagePolicy: policy)
    }

    private static func policy(_ value: JSONValue) throws(JSONFaultReason) -> StoragePolicy {
        guard let number = try? Int.read(value), let policy = StoragePolicy(rawValue: number) else {
            throw JSONFaultReason("must be 0 (stores no message) or 1 (stores the most recent message)")
        }
        return policy
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("channelId", id)
        json.member("messageStoragePolicy", storagePolicy.rawValue)
    }
}
