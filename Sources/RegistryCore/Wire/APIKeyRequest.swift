import Foundation

package struct APIKeyRequest: Sendable, Hashable {
    /// ``read(_:now:)`` accepts only ``Role/ofApps``.
    package var role: Role
    package var name: String?
    package var expiresAt: Date?

    package init(role: Role, name: String? = nil, expiresAt: Date? = nil) {
        self.role = role
        self.name = name
        self.expiresAt = expiresAt
    }

    /// Reads `{role, name, expiresAt | expiresIn}`.
    ///
    /// - Parameter now: The start of `expiresIn` and the lower bound of `expiresAt`.
    package static func read(_ json: inout JSONReader, now: Date) -> APIKeyRequest? {
        let role = json.string("role", Self.role)
        let name = json.optionalString("name", Self.name)
        let expiresAt = json.optional("expiresAt") { value throws(JSONFaultReason) in
            try Self.expiry(Date.read(value), now)
        }
        let expiresIn = json.optional("expiresIn") { value throws(JSONFaultReason) in try Self.expiry(in: value, now) }
        if expiresAt != nil, expiresIn != nil { json.fault("expiresIn", "must not be given together with expiresAt") }
        return role.map { APIKeyRequest(role: $0, name: name, expiresAt: expiresAt ?? expiresIn) }
    }

    /// - Throws: A sentence if the name is empty, longer than 256 bytes, or contains a control character.
    package static func name(_ text: String) throws(JSONFaultReason) -> String {
        try UTF8Text(name: text, maximumBytes: 256).string
    }

    package static func expiry(in duration: JSONValue, _ now: Date) throws(JSONFaultReason) -> Date {
        let duration = try Duration.within(AppChanges.retentions)(duration)
        return now.addingTimeInterval(TimeInterval(duration.components.seconds))
    }

    private static func expiry(_ time: Date, _ now: Date) throws(JSONFaultReason) -> Date {
        guard time > now else { throw JSONFaultReason("must be in the future") }
        // `Date.distantFuture` is stored as infinity.
        guard time < .distantFuture else {
            throw JSONFaultReason("must be before the year 4001; omit it for a key that never expires")
        }
        return time
    }

    private static func role(_ word: String) throws(JSONFaultReason) -> Role {
        guard let role = Role(rawValue: word), Role.ofApps.contains(role) else {
            let words = Role.ofApps.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw JSONFaultReason("must be one of \(words); create root keys with pushreg keys create --role root")
        }
        return role
    }
}
