import Foundation
import RegistryCore

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

    /// Skips reading the clock for keys that never expire, which are most.
    package func isValid(at time: @autoclosure () -> Date) -> Bool {
        revokedAt == nil && expiresAt.map { time() < $0 } ?? true
    }
}

extension APIKeyRecord: JSONObjectEncodable {
    package func encode(to json: inout JSONWriter, revealing key: APIKey) {
        json.object { json in
            writeMembers(to: &json)
            json.member("key", key.text.revealed)
        }
    }

    package func writeMembers(to json: inout JSONWriter) {
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
