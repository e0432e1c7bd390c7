import Foundation
import PostgresDriver
import RegistryCore

/// An API key as it is stored.
package struct StoredKey: Sendable, Hashable {
    /// All that is stored of the key but the digest.
    package let record: APIKeyRecord
    /// The SHA-256 of the secret.
    package let digest: [UInt8]

    /// Makes a stored key of its two parts.
    package init(record: APIKeyRecord, digest: [UInt8]) {
        self.record = record
        self.digest = digest
    }
}

extension StoredKey {
    /// The columns of a key's row `stored`, and its app's row `app`.
    static let columns = Columns(record, .one("stored.secret_digest"), as: StoredKey.init)

    private static let record = Columns(
        Columns(.one("stored.key_id"), as: id),
        .one("stored.app_number"),
        Columns(.one("app.bundle_id"), as: { (id: String?) in id.map(BundleID.init(stored:)) }),
        .one("stored.name"),
        .one("stored.created_at"),
        .one("stored.expires_at"),
        .one("stored.last_used_at"),
        .one("stored.revoked_at"),
        as: APIKeyRecord.init
    )

    @Sendable private static func id(_ stored: String) throws -> APIKeyID {
        guard let id = try? APIKeyID(stored) else { throw UnreadableRow(detail: "an API key's id is not one") }
        return id
    }
}
