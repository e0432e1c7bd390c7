import Foundation
import PostgresDriver
import RegistryCore

/// An API key as it is stored.
public struct StoredKey: Sendable, Hashable {
    /// All that is stored of the key but the digest.
    public let record: APIKeyRecord
    /// The SHA-256 of the secret.
    public let digest: [UInt8]

    /// Makes a stored key of its two parts.
    public init(record: APIKeyRecord, digest: [UInt8]) {
        self.record = record
        self.digest = digest
    }
}

extension Registry {
    /// Stores a key, with an audit event.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of its secret; the secret itself never comes here.
    ///   - app: the app that it belongs to; nil for root keys.
    /// - Throws: `unknownApp` when the app was deleted meanwhile.
    public func createKey(
        _ id: APIKeyID,
        digest: [UInt8],
        _ request: APIKeyRequest,
        of app: App?,
        by who: UTF8Text
    ) async throws -> APIKeyRecord {
        let number = app?.number ?? KeyStatements.noApp
        return try await write { session in
            let results = try session.pipeline([
                KeyStatements.create(id, digest: digest, request, ofApp: number),
                KeyStatements.createdEvent(id, ofApp: number, by: who), KeyStatements.keys([id]),
                Refusal.facts(ofApp: number),
            ])
            let keys = try results[2].decode(StoredKey.columns)
            if let stored = keys.first(where: { $0.digest == digest }) { return stored.record }
            // Of root there is no app that could have gone.
            guard app != nil else { throw UnforeseenRefusal() }
            throw try Refusal(of: nil, results[3][0]).problem
        }
    }

    /// The keys of an id: none, or one; more only by an accident of 71 random bits. All who ask at once
    /// share a statement.
    public func storedKeys(_ id: APIKeyID) async throws -> [StoredKey] { try await keyLookups.find(id) }

    /// The keys of an app, revoked and expired ones too, the oldest first.
    public func keys(of app: App) async throws -> [APIKeyRecord] {
        try await records(KeyStatements.keys(ofApp: app.number))
    }

    /// The keys of all apps and those of root, root first.
    public func allKeys() async throws -> [APIKeyRecord] { try await records(KeyStatements.all) }

    private func records(_ statement: SQL) async throws -> [APIKeyRecord] {
        try await read { session in try session.execute(statement).decode(StoredKey.columns).map(\.record) }
    }

    /// Revokes a key for good, with an audit event the first time.
    ///
    /// - Parameter number: the app that it belongs to; 0 for root keys.
    /// - Returns: false when there is no such key.
    public func revokeKey(_ id: APIKeyID, ofApp number: Int64, by who: UTF8Text) async throws -> Bool {
        try await write { session in
            try session.pipeline([
                KeyStatements.revoke(id, ofApp: number), KeyStatements.revokedEvent(id, ofApp: number, by: who),
            ])[0].affectedRows > 0
        }
    }

    /// Remembers that a key was used at a time; a later time stays.
    public func noteUse(of key: APIKeyRecord, at time: Date) async throws {
        _ = try await write { session in
            try session.execute(KeyStatements.noteUse(of: key.id, ofApp: key.appNumber, at: time)).affectedRows
        }
    }
}

extension StoredKey {
    /// The keys of each of these ids, in their order.
    static func find(_ session: borrowing PostgresSession, _ ids: [APIKeyID]) throws -> [[StoredKey]] {
        let keys = try session.execute(KeyStatements.keys(ids)).decode(StoredKey.columns)
        let byID = Dictionary(grouping: keys, by: \.record.id)
        return ids.map { byID[$0] ?? [] }
    }
}
