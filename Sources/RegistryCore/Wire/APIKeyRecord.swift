import Foundation

/// The record of an API key: all but its secret, of which only the SHA-256 is stored.
package struct APIKeyRecord: Sendable, Hashable {
    package let id: APIKeyID
    /// The id of the app that it belongs to; 0 for root keys, which belong to none.
    package let appID: Int64
    /// The app that it belongs to; nil for root keys.
    package let app: BundleID?
    package let name: String?
    /// Postgres's clock when the key was stored.
    package let createdAt: Date
    /// From when on it is refused; nil for never.
    package let expiresAt: Date?
    /// When it was last used, to the minute or so.
    package let lastUsedAt: Date?
    /// When it was revoked for good.
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
    /// ``read(_:now:)`` allows only ``Role/ofApps``.
    package var role: Role
    package var name: String?
    /// From when on the key is refused; nil for never.
    package var expiresAt: Date?

    package init(role: Role, name: String? = nil, expiresAt: Date? = nil) {
        self.role = role
        self.name = name
        self.expiresAt = expiresAt
    }

    /// Reads `{role, name, expiresAt | expiresIn}`; nil and faults in the reader if any of it is not allowed.
    ///
    /// - Parameter now: the start of `expiresIn`, and a lower bound of `expiresAt`.
    package static func read(_ json: inout JSONReader, now: Date) -> APIKeyRequest? {
        let role = json.string("role", Self.role)
        let name = json.optionalString("name", Self.name)
        let expiresAt = json.optional("expiresAt") { value throws(JSONFaultReason) in
            try Self.expiry(Date.read(value), now)
        }
        let expiresIn = json.optional("expiresIn") { value throws(JSONFaultReason) in
            try Self.expiry(in: Duration.read(value), now)
        }
        if expiresAt != nil, expiresIn != nil { json.fault("expiresIn", "must not be given beside expiresAt") }
        return role.map { APIKeyRequest(role: $0, name: name, expiresAt: expiresAt ?? expiresIn) }
    }

    /// - Throws: a sentence if it is empty, longer than 256 bytes or contains control characters.
    package static func name(_ text: String) throws(JSONFaultReason) -> String {
        try ActivityID.check(text, maximumBytes: 256)
        return text
    }

    /// - Throws: a sentence unless the duration is positive and at most `AppChanges.longestRetention`.
    package static func expiry(in duration: Duration, _ now: Date) throws(JSONFaultReason) -> Date {
        try AppChanges.check(duration, upTo: AppChanges.longestRetention)
        return now.addingTimeInterval(TimeInterval(duration.components.seconds))
    }

    private static func expiry(_ time: Date, _ now: Date) throws(JSONFaultReason) -> Date {
        guard time > now else { throw JSONFaultReason("must lie in the future") }
        // `Date.distantFuture` stands for the end of time.
        guard time < .distantFuture else {
            throw JSONFaultReason("must lie before the year 4001; a key without it never expires")
        }
        return time
    }

    private static func role(_ word: String) throws(JSONFaultReason) -> Role {
        guard let role = Role(rawValue: word), Role.ofApps.contains(role) else {
            let words = Role.ofApps.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw JSONFaultReason("must be one of \(words); root keys are made by pushreg keys create --role root")
        }
        return role
    }
}
