/// A client's own JSON object about an activity, at most 2 KiB in canonical form.
package struct Metadata: Sendable, Hashable {
    package let canonicalJSON: [UInt8]
    package static let maximumBytes = 2048

    /// - Throws: A sentence unless it is an object, small enough, and without U+0000, which Postgres's `jsonb` cannot
    ///   store.
    package init(_ value: JSONValue) throws(JSONFaultReason) {
        guard case .object = value else { throw JSONFaultReason("must be an object") }
        guard !value.containsNulCharacter else { throw JSONFaultReason("must not contain the character U+0000") }
        guard !value.containsLongNumber else { throw JSONFaultReason("must not contain numbers beyond 1e38 and 1e-38") }
        let bytes = value.canonicalBytes
        guard bytes.count <= Self.maximumBytes else {
            throw JSONFaultReason("must be at most \(Self.maximumBytes) bytes of JSON")
        }
        canonicalJSON = bytes
    }

    package init(stored value: JSONValue) { canonicalJSON = value.canonicalBytes }
}

extension JSONValue {
    var containsNulCharacter: Bool { contains { $0.string?.utf8.contains(0) ?? false } }

    /// Postgres's `jsonb` writes all digits of a number, up to 326, which would be read again with each activity.
    fileprivate var containsLongNumber: Bool {
        contains { value in
            guard case .number(let number) = value, number != 0 else { return false }
            return !(1e-38...1e38).contains(number.magnitude)
        }
    }

    /// Whether this value, a value in it or a key satisfies a condition.
    private func contains(_ isMeant: (JSONValue) -> Bool) -> Bool {
        if isMeant(self) { return true }
        return switch self {
        case .null, .bool, .integer, .number, .string: false
        case .array(let elements): elements.contains { $0.contains(isMeant) }
        case .object(let object): object.contains { isMeant(.string($0.key)) || $0.value.contains(isMeant) }
        }
    }
}
