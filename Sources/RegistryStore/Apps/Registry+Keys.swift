import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Stores a key, with an audit event.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of its secret.
    ///   - app: nil for root keys.
    /// - Throws: `unknownApp` if the app was deleted meanwhile.
    package func createKey(
        _ id: APIKeyID,
        digest: [UInt8],
        _ request: APIKeyRequest,
        of app: App?,
        by who: UTF8Text
    ) async throws -> APIKeyRecord {
        let appID = app?.id ?? KeyStatements.noApp
        return try await write { session in
            let results = try session.pipeline([
                KeyStatements.create(id, digest: digest, request, ofApp: appID),
                KeyStatements.createdEvent(id, ofApp: appID, by: who), KeyStatements.keys([id]),
                Refusal.facts(ofApp: appID),
            ])
            let keys = try results[2].decode(StoredKey.columns)
            if let stored = keys.first(where: { $0.digest == digest }) { return stored.record }
            // Root keys have no app that could be deleted.
            guard app != nil else { throw UnforeseenRefusal() }
            throw try Refusal.problem(results[3])
        }
    }

    /// Normally none or one; more only by a collision of 71 random bits. Concurrent callers share a statement.
    package func storedKeys(_ id: APIKeyID) async throws -> [StoredKey] { try await keyLookups.find(id) }

    /// Includes revoked and expired keys, oldest first.
    package func keys(of app: App) async throws -> [APIKeyRecord] {
        try await records(KeyStatements.keys(ofApp: app.id))
    }

    package func allKeys() async throws -> [APIKeyRecord] { try await records(KeyStatements.all) }

    private func records(_ statement: SQL) async throws -> [APIKeyRecord] {
        try await read { session in try session.execute(statement).decode(StoredKey.columns).map(\.record) }
    }

    /// Writes an audit event the first time.
    ///
    /// - Parameter app: 0 for root keys.
    /// - Returns: false if there is no such key.
    package func revokeKey(_ id: APIKeyID, ofApp app: Int64, by who: UTF8Text) async throws -> Bool {
        try await write { session in
            try session.pipeline([
                KeyStatements.revoke(id, ofApp: app), KeyStatements.revokedEvent(id, ofApp: app, by: who),
            ])[0].affectedRows > 0
        }
    }

    /// A later stored time stays.
    package func noteUse(of key: APIKeyRecord, at time: Date) async throws {
        _ = try await write { session in
            try session.execute(KeyStatements.noteUse(of: key.id, ofApp: key.appID, at: time)).affectedRows
        }
    }
}

extension StoredKey {
    static func find(_ session: borrowing PostgresSession, _ ids: [APIKeyID]) throws -> [[StoredKey]] {
        let keys = try session.execute(KeyStatements.keys(ids)).decode(StoredKey.columns)
        let byID = Dictionary(grouping: keys, by: \.record.id)
        return ids.map { byID[$0] ?? [] }
    }
}

enum KeyStatements {
    static let noApp: Int64 = 0

    /// Keys with their apps. Keys of a deleted app are left out, even while their rows remain.
    private static let source = """
        api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id \
        WHERE (stored.app_id = 0 OR app.app_id IS NOT NULL)
        """

    static func keys(_ ids: [APIKeyID]) -> SQL {
        "SELECT \(StoredKey.columns) FROM \(unescaped: source) AND stored.key_id = ANY(\(ids.map(\.rawValue)))"
    }

    static func keys(ofApp app: Int64) -> SQL {
        """
        SELECT \(StoredKey.columns) FROM \(unescaped: source) AND stored.app_id = \(app)
        ORDER BY stored.created_at, stored.key_id
        """
    }

    static var all: SQL {
        """
        SELECT \(StoredKey.columns) FROM \(unescaped: source)
        ORDER BY app.bundle_id NULLS FIRST, stored.created_at, stored.key_id
        """
    }

    /// Stores nothing if the app was deleted meanwhile. Root keys have a statement of their own because Citus answers a
    /// combined one with no row, without an error.
    static func create(_ id: APIKeyID, digest: [UInt8], _ request: APIKeyRequest, ofApp app: Int64) -> SQL {
        let source: SQL = app == noApp ? "" : "\nFROM apps app WHERE app.app_id = \(app) FOR KEY SHARE"
        return """
            INSERT INTO api_keys (app_id, key_id, role, secret_digest, name, expires_at)
            SELECT \(app), \(id.rawValue), \(id.role.rawValue)::api_key_role, \(digest), \(request.name),
                \(request.expiresAt)\(sql: source)
            """
    }

    static func createdEvent(_ id: APIKeyID, ofApp app: Int64, by who: UTF8Text) -> SQL {
        event("key-created", id, ofApp: app, by: who, where: "created_at = now()")
    }

    /// Always writes, so that a repeated revocation is durable, too. The earlier time stays; Citus rejects a `coalesce`
    /// of an absent time.
    static func revoke(_ id: APIKeyID, ofApp app: Int64) -> SQL {
        """
        UPDATE api_keys SET revoked_at = least(revoked_at, now())
        WHERE app_id = \(app) AND key_id = \(id.rawValue)
        """
    }

    /// Runs with `revoke` in one transaction, whose now() is the time of the revocation unless an earlier one set it.
    static func revokedEvent(_ id: APIKeyID, ofApp app: Int64, by who: UTF8Text) -> SQL {
        event("key-revoked", id, ofApp: app, by: who, where: "revoked_at = now()")
    }

    /// An event in each of the app's scopes; for a root key in scope 0.
    private static func event(
        _ type: String,
        _ id: APIKeyID,
        ofApp app: Int64,
        by who: UTF8Text,
        where condition: String
    ) -> SQL {
        """
        INSERT INTO events (scope_id, drop_on, type, who, key_id)
        SELECT coalesce(s.scope_id, 0), (now() + coalesce(app.event_retention, '90 days'))::date + 1, \(type), \(who),
            stored.key_id
        FROM api_keys stored LEFT JOIN apps app ON app.app_id = stored.app_id
        LEFT JOIN scopes s ON s.app_id = app.app_id
        WHERE stored.app_id = \(app) AND stored.key_id = \(id.rawValue) AND stored.\(unescaped: condition)
        """
    }

    static func noteUse(of id: APIKeyID, ofApp app: Int64, at time: Date) -> SQL {
        """
        UPDATE api_keys SET last_used_at = greatest(last_used_at, \(time))
        WHERE app_id = \(app) AND key_id = \(id.rawValue)
        """
    }
}
