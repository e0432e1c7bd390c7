import Foundation
import PostgresDriver
import RegistryCore

/// The statements about API keys.
enum KeyStatements {
    /// Where root keys stand, which belong to no app.
    static let noApp: Int64 = 0

    private static let columns = """
        stored.key_id, stored.app_number, app.bundle_id, stored.name, stored.created_at, stored.expires_at, \
        stored.last_used_at, stored.revoked_at, stored.secret_digest
        """

    /// Keys with their apps. Those of an app that was deleted are no more, whether or not their rows have gone yet.
    private static let source = """
        api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number \
        WHERE (stored.app_number = 0 OR app.app_number IS NOT NULL)
        """

    /// Every key of these ids: one of each, or none.
    static func keys(_ ids: [APIKeyID]) -> SQL {
        "SELECT \(unescaped: columns) FROM \(unescaped: source) AND stored.key_id = ANY(\(ids.map(\.rawValue)))"
    }

    static func keys(ofApp number: Int64) -> SQL {
        """
        SELECT \(unescaped: columns) FROM \(unescaped: source) AND stored.app_number = \(number)
        ORDER BY stored.created_at, stored.key_id
        """
    }

    static var all: SQL {
        """
        SELECT \(unescaped: columns) FROM \(unescaped: source)
        ORDER BY app.bundle_id NULLS FIRST, stored.created_at, stored.key_id
        """
    }

    /// Stores nothing when the app was deleted meanwhile.
    static func create(_ id: APIKeyID, digest: [UInt8], _ request: APIKeyRequest, ofApp number: Int64) -> SQL {
        """
        INSERT INTO api_keys (app_number, key_id, role, secret_digest, name, expires_at)
        SELECT \(number), \(id.rawValue), \(id.role.rawValue)::api_key_role, \(digest), \(request.name),
            \(request.expiresAt)
        WHERE \(number) = 0 OR EXISTS (SELECT FROM apps app WHERE app.app_number = \(number) FOR KEY SHARE)
        """
    }

    static func createdEvent(_ id: APIKeyID, ofApp number: Int64, by who: UTF8Text) -> SQL {
        event("key-created", id, ofApp: number, by: who, where: "created_at = now()")
    }

    /// Writes in any case, so that a repeated revocation is durable too.
    static func revoke(_ id: APIKeyID, ofApp number: Int64) -> SQL {
        """
        UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
        WHERE app_number = \(number) AND key_id = \(id.rawValue)
        """
    }

    /// Goes with `revoke` in one transaction, whose now() is the time of the revocation if it is this one.
    static func revokedEvent(_ id: APIKeyID, ofApp number: Int64, by who: UTF8Text) -> SQL {
        event("key-revoked", id, ofApp: number, by: who, where: "revoked_at = now()")
    }

    private static func event(
        _ type: String,
        _ id: APIKeyID,
        ofApp number: Int64,
        by who: UTF8Text,
        where condition: String
    ) -> SQL {
        """
        INSERT INTO events (app_number, drop_on, type, who, key_id)
        SELECT stored.app_number, (now() + coalesce(app.event_retention, '90 days'))::date + 1, \(type), \(who),
            stored.key_id
        FROM api_keys stored LEFT JOIN apps app ON app.app_number = stored.app_number
        WHERE stored.app_number = \(number) AND stored.key_id = \(id.rawValue) AND stored.\(unescaped: condition)
        """
    }

    static func noteUse(of id: APIKeyID, ofApp number: Int64, at time: Date) -> SQL {
        """
        UPDATE api_keys SET last_used_at = greatest(last_used_at, \(time))
        WHERE app_number = \(number) AND key_id = \(id.rawValue)
        """
    }
}

extension StoredKey {
    init(_ row: PostgresRow) throws {
        let bundleID = try row.column(2, as: String?.self)
        guard let id = try? APIKeyID(row.column(0, as: String.self)) else {
            throw UnreadableRow(detail: "an API key's id is not one")
        }
        let record = APIKeyRecord(
            id: id,
            appNumber: try row.column(1, as: Int64.self),
            app: bundleID.flatMap { try? BundleID($0) },
            name: try row.column(3, as: String?.self),
            createdAt: try row.column(4, as: Date.self),
            expiresAt: try row.column(5, as: Date?.self),
            lastUsedAt: try row.column(6, as: Date?.self),
            revokedAt: try row.column(7, as: Date?.self)
        )
        self.init(record: record, digest: try row.column(8, as: [UInt8].self))
    }
}
