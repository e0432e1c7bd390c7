import Foundation
import PostgresDriver
import RegistryCore

package struct StoredKey: Sendable, Hashable {
    package let record: APIKeyRecord
    package let digest: [UInt8]
}

extension StoredKey: DecodableRow {
    package init(row: NamedRow) throws {
        guard let id = try? APIKeyID(try row["key_id"] as String) else {
            throw UnreadableRow(detail: "an API key's id is not valid")
        }
        let record = APIKeyRecord(
            id: id,
            appID: try row["app_id"],
            app: try (row["bundle_id"] as String?).map(BundleID.init(stored:)),
            name: try row["name"],
            createdAt: try row["created_at"],
            expiresAt: try row["expires_at"],
            lastUsedAt: try row["last_used_at"],
            revokedAt: try row["revoked_at"]
        )
        self.init(record: record, digest: try row["secret_digest"])
    }
}
