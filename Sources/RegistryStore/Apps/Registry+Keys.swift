import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// - Parameters:
    ///   - digest: the SHA-256 of the key's secret.
    ///   - app: nil for root keys.
    /// - Throws: `unknownApp` if the app was deleted meanwhile.
    package func createKey(
        _ id: APIKeyID,
        digest: [UInt8],
        _ request: APIKeyRequest,
        of app: App?,
        by who: UTF8Text
    ) async throws -> APIKeyRecord {
        let key: QueryValues = ["app": app?.id ?? Self.noApp, "id": id.rawValue]
        let new: QueryValues = [
            "id": id.rawValue, "role": id.role.rawValue, "digest": digest, "name": request.name,
            "expires_at": request.expiresAt,
        ]
        let insert = app.map { Query("keys.insert")(["app": $0.id] + new) } ?? Query("keys.insert-root")(new)
        return try await write { session in
            let results = try session.pipeline([
                insert, Query("keys.insert-events")(["type": "key-created", "who": who] + key),
                Query("keys.find")(["ids": [id.rawValue]]), Refusal.facts(ofApp: app?.id ?? Self.noApp),
            ])
            let keys = try results[2].decode(StoredKey.self)
            if let stored = keys.first(where: { $0.digest == digest }) { return stored.record }
            guard app != nil else { throw UnforeseenRefusal() }
            throw try Refusal.problem(results[3])
        }
    }

    private static let noApp: Int64 = 0

    /// Several keys share an id only if 71 random bits collide. Concurrent callers share a statement.
    package func storedKeys(_ id: APIKeyID) async throws -> [StoredKey] { try await keyLookups.submit(id) }

    /// Includes revoked and expired keys, oldest first.
    ///
    /// - Parameter app: nil for the keys of all apps and the root keys.
    package func keys(of app: App?) async throws -> [APIKeyRecord] {
        try await read { try $0.run("keys.list", ["app": app?.id]).decode(StoredKey.self).map(\.record) }
    }

    /// Writes an audit event the first time.
    ///
    /// - Parameter app: 0 for root keys.
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

extension StoredKey {
    static func find(_ session: borrowing PostgresSession, _ ids: [APIKeyID]) throws -> [[StoredKey]] {
        let keys = try session.run("keys.find", ["ids": ids.map(\.rawValue)]).decode(StoredKey.self)
        let byID = Dictionary(grouping: keys, by: \.record.id)
        return ids.map { byID[$0] ?? [] }
    }
}
