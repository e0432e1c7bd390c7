import Foundation

/// An API key without its secret, of which only the SHA-256 is stored.
package struct APIKeyRecord: Sendable, Hashable {
    package let id: APIKeyID
    /// 0 for root keys.
    package let appID: Int64
    package let app: BundleID?
    package let name: String?
    package let createdAt: Date
    package let expiresAt: Date?
    /// Accurate to about a minute.
    package let lastUsedAt: Date?
    package let revokedAt: Date?

    package init(
        id: APIKeyID,
        appID: Int64,
        app: BundleID?,
        name: String?,
        createdAt: Date,
        expiresAt: Date?,
        lastUsedAt: Date?,
        revokedAt: Date?
    ) {
        self.id = id
        self.appID = appID
        self.app = app
        self.name = name
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
    }

    package func isValid(at time: Date) -> Bool {
        revokedAt == nil && expiresAt.map { time < $0 } ?? true
    }
}

extension APIKeyRecord: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in writeMembers(to: &json) }
    }

    package func encode(to json: inout JSONWriter, revealing key: APIKey) {
        json.object { json in
            writeMembers(to: &json)
            json.member("key", key.text.revealed)
        }
    }

    private func writeMembers(to json: inout JSONWriter) {
        json.member("id", id.rawValue)
        json.member("role", id.role.rawValue)
        json.member("app", ifPresent: app?.rawValue)
        json.member("name", ifPresent: name)
        json.member("createdAt", createdAt)
        json.member("expiresAt", ifPresent: expiresAt)
        json.member("lastUsedAt", ifPresent: lastUsedAt)
        json.member("revokedAt", ifPresent: revokedAt)
    }
}

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
        let expiresIn = json.optional("expiresIn") { value throws(JSONFaultReason) in
            try Self.expiry(in: Duration.read(value), now)
        }
        if expiresAt != nil, expiresIn != nil { json.fault("expiresIn", "must not be given together with expiresAt") }
        return role.map { APIKeyRequest(role: $0, name: name, expiresAt: expiresAt ?? expiresIn) }
    }

    /// - Throws: A sentence if the name is empty, longer than 256 bytes, or contains a control character.
    package static func name(_ text: String) throws(JSONFaultReason) -> String {
        try ActivityID.check(text, maximumBytes: 256)
        return text
    }

    package static func expiry(in duration: Duration, _ now: Date) throws(JSONFaultReason) -> Date {
        try AppChanges.check(duration, upTo: AppChanges.longestRetention)
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
