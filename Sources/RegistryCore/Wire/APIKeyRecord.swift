import Foundation

/// The record of an API key: all but its secret, of which only the SHA-256 is stored.
package struct APIKeyRecord: Sendable, Hashable {
    /// The public part of the key, which also names its role.
    package let id: APIKeyID
    /// The number of the app that it belongs to; 0 for root keys, which belong to none.
    package let appNumber: Int64
    /// The app that it belongs to; nil for root keys.
    package let app: BundleID?
    /// A name for people; nil when none was given.
    package let name: String?
    /// Postgres's clock when the key was stored.
    package let createdAt: Date
    /// From when on it is refused; nil for never.
    package let expiresAt: Date?
    /// When it was last used, to the minute or so.
    package let lastUsedAt: Date?
    /// Since when it is refused for good; nil while nobody has revoked it.
    package let revokedAt: Date?

    /// Makes a record of its parts.
    package init(
        id: APIKeyID,
        appNumber: Int64,
        app: BundleID?,
        name: String?,
        createdAt: Date,
        expiresAt: Date?,
        lastUsedAt: Date?,
        revokedAt: Date?
    ) {
        self.id = id
        self.appNumber = appNumber
        self.app = app
        self.name = name
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
    }

    /// Whether it lets its bearer in.
    package func isValid(at time: Date) -> Bool {
        revokedAt == nil && expiresAt.map { time < $0 } ?? true
    }
}

extension APIKeyRecord: JSONEncodable {
    /// Writes `{id, role, app, name, createdAt, expiresAt, lastUsedAt, revokedAt}`, without what there is not.
    package func encode(to json: inout JSONWriter) {
        json.object { json in writeMembers(to: &json) }
    }

    /// Writes the same with the whole key in it, as it is shown once.
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

/// An admin's request for a new key.
package struct APIKeyRequest: Sendable, Hashable {
    /// The role of the key to make; as ``read(_:now:)`` gives it, one of ``Role/ofApps``.
    package var role: Role
    /// A name for people, 1 to 256 bytes of UTF-8; nil for none.
    package var name: String?
    /// From when on the key is refused; nil for never.
    package var expiresAt: Date?

    /// Makes a request; the key has no name and does not expire unless they are given.
    package init(role: Role, name: String? = nil, expiresAt: Date? = nil) {
        self.role = role
        self.name = name
        self.expiresAt = expiresAt
    }

    /// Reads `{role, name, expiresAt | expiresIn}`; nil and faults in the reader when any of it is not allowed.
    ///
    /// - Parameter now: what `expiresIn` is counted from, and what `expiresAt` must be later than.
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

    /// Takes a name for people.
    ///
    /// - Throws: a sentence when it is empty, longer than 256 bytes or holds control characters.
    package static func name(_ text: String) throws(JSONFaultReason) -> String {
        try ActivityID.check(text, maximumBytes: 256)
        return text
    }

    /// The end of a time from now.
    ///
    /// - Throws: a sentence unless it is longer than none and at most `AppChanges.longestRetention`.
    package static func expiry(in duration: Duration, _ now: Date) throws(JSONFaultReason) -> Date {
        try AppChanges.check(duration, upTo: AppChanges.longestRetention)
        return now.addingTimeInterval(TimeInterval(duration.components.seconds))
    }

    private static func expiry(_ time: Date, _ now: Date) throws(JSONFaultReason) -> Date {
        guard time > now else { throw JSONFaultReason("must lie in the future") }
        // Which stands for the end of time (`Date.distantFuture`).
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
