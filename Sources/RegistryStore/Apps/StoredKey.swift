import Foundation
import PostgresDriver
import RegistryCore

package struct StoredKey: Sendable, Hashable {
    package let record: APIKeyRecord
    package let digest: [UInt8]
}

extension StoredKey {
    static let columns = Columns(record, .one("stored.secret_digest"), as: StoredKey.init)

    private static let record = Columns(
        Columns(.one("stored.key_id"), as: id),
        .one("stored.app_id"),
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
