import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    package func createKey(
        _ id: APIKeyID,
        digest: [UInt8],
        _ request: APIKeyRequest,
        of app: App?,
        by who: UTF8Text
    ) async throws -> APIKeyRecord {
        let key: QueryValues = ["app": app?.id ?? 0, "id": id.rawValue]
        let new: QueryValues = [
            "id": id.rawValue, "role": id.role.rawValue, "digest": digest, "name": request.name,
            "expires_at": request.expiresAt,
        ]
        let insert = app.map { Query("keys.insert")(["app": $0.id] + new) } ?? Query("keys.insert-root")(new)
        return try await write { session in
            let results = try session.pipeline([
                insert, Query("keys.insert-events")(["type": "key-created", "who": who] + key),
                Query("keys.find")(["ids": [id.rawValue]]),
            ])
            let keys = try results[2].decode(APIKeyRecord.self)
            guard let stored = keys.first(where: { $0.digest == digest }) else { throw Problem.appDeleted }
            return stored
        }
    }

    /// Several keys share an id only if 71 random bits collide. Concurrent callers share a statement.
    package func storedKeys(_ id: APIKeyID) async throws -> [APIKeyRecord] { try await keyLookups.submit(id) }

    /// Includes revoked and expired keys, oldest first.
    package func keys(of app: App?) async throws -> [APIKeyRecord] {
        try await read { try $0.run("keys.list", ["app": app?.id]).decode() }
    }

    /// Writes an audit event the first time.
    ///
    /// - Returns: false if the key is unknown.
    package func revokeKey(_ id: APIKeyID, ofApp app: Int64, by who: UTF8Text) async throws -> Bool {
        let key: QueryValues = ["app": app, "id": id.rawValue]
        return try await write { session in
            try session.pipeline([
                Query("keys.revoke")(key), Query("keys.insert-events")(["type": "key-revoked", "who": who] + key),
            ])[0].affectedRows > 0
        }
    }

    /// Keeps the stored time if it is later.
    package func noteUse(of key: APIKeyRecord, at time: Date) async throws {
        let use: QueryValues = ["time": time, "app": key.appID, "id": key.id.rawValue]
        _ = try await write { try $0.run("keys.record-use", use).affectedRows }
    }
}

/// An API key without its secret.
package struct APIKeyRecord: Sendable, Hashable, DecodableRow, JSONObjectEncodable {
    package let id: APIKeyID
    /// The SHA-256 of its secret. Responses omit it.
    package let digest: [UInt8]
    package let appID: Int64
    package let app: BundleID?
    package let name: String?
    package let createdAt: Date
    package let expiresAt: Date?
    /// Accurate to about a minute.
    package let lastUsedAt: Date?
    package let revokedAt: Date?

    package init(row: NamedRow) throws {
        guard let id = try? APIKeyID(try row["key_id"] as String) else {
            throw UnreadableRow(detail: "an API key's id is not valid")
        }
        self.id = id
        digest = try row["secret_digest"]
        appID = try row["app_id"]
        app = try (row["bundle_id"] as String?).map(BundleID.init(stored:))
        name = try row["name"]
        createdAt = try row["created_at"]
        expiresAt = try row["expires_at"]
        lastUsedAt = try row["last_used_at"]
        revokedAt = try row["revoked_at"]
    }

    static func find(_ session: borrowing PostgresSession, _ ids: [APIKeyID]) throws -> [[APIKeyRecord]] {
        let keys = try session.run("keys.find", ["ids": ids.map(\.rawValue)]).decode(APIKeyRecord.self)
        let byID = Dictionary(grouping: keys, by: \.id)
        return ids.map { byID[$0] ?? [] }
    }

    /// Skips reading the clock for keys that never expire, which are most.
    package func isValid(at time: @autoclosure () -> Date) -> Bool {
        revokedAt == nil && expiresAt.map { time() < $0 } ?? true
    }

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
