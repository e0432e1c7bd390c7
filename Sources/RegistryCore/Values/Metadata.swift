/// A client's own JSON object about an activity, at most 2 KiB in canonical form.
package struct Metadata: Sendable, Hashable {
    package let canonicalJSON: [UInt8]
    package static let maximumBytes = 2048

    /// - Throws: A sentence unless it is an object, small enough, and without U+0000, which Postgres's `jsonb` cannot
    ///   store.
    package init(_ value: JSONValue) throws(JSONFaultReason) {
        guard case .object = value else { throw JSONFaultReason("must be an object") }
        guard !value.containsNulCharacter else { throw JSONFaultReason("must not contain the character U+0000") }
        let bytes = value.canonicalBytes
        guard bytes.count <= Self.maximumBytes else {
            throw JSONFaultReason("must be at most \(Self.maximumBytes) bytes of JSON")
        }
        canonicalJSON = bytes
    }

    package init(stored value: JSONValue) { canonicalJSON = value.canonicalBytes }
}

extension JSONValue {
    var containsNulCharacter: Bool {
        switch self {
        case .null, .bool, .integer, .number: false
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains(where: \.containsNulCharacter)
        case .object(let object): object.contains { $0.key.utf8.contains(0) || $0.value.containsNulCharacter }
        }
    }
}
