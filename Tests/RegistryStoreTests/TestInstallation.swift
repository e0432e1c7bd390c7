import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport

struct TestInstallation: Fixture {
    let database: TestDatabase
    let scope: Scope
    let hash: InstallationHash
    var claimant: Claimant = .any

    static let types = ["Delivery", "Match"].map { try! AttributesType($0) }
    static let delivery = TokenSlot.start(types[0])
    static let device = TokenSlot.only(.device)
    static let widget = TokenSlot.only(.widget)

    static func make(_ number: Int = 1) async throws -> TestInstallation {
        let database = try await TestDatabase.make()
        return TestInstallation(database: database, scope: try await database.scope(), hash: .sample(number))
    }

    func another(_ number: Int) -> TestInstallation { installation(number) }

    func asUser(_ subject: UTF8Text) -> TestInstallation {
        var phone = self
        phone.claimant = .subject(subject, hash)
        return phone
    }

    var asClient: TestInstallation {
        var phone = self
        phone.claimant = .installation(hash)
        return phone
    }

    @discardableResult
    func register(_ token: Int, in slot: TokenSlot = Self.delivery, at observedAt: Date?) async throws
        -> TokenRegistrationResult
    {
        let registration = TokenRegistration(token: .sample(token), observedAt: observedAt)
        return try await registry.register(registration, in: slot, of: hash, in: scope, by: "test", claimant: claimant)
    }

    func delete(_ slot: TokenSlot = Self.delivery, at observedAt: Date?) async throws {
        let (time, claimant) = (observedAt, claimant)
        try await registry.deleteToken(in: slot, of: hash, observedAt: time, in: scope, by: "test", claimant: claimant)
    }

    @discardableResult
    func put(_ aliases: [Alias]?, metadata: JSONValue? = nil, at observedAt: Date?) async throws -> InstallationResult {
        let profile = InstallationProfile(
            aliases: try aliases.map { try AliasSet($0) },
            metadata: try metadata.map { try Metadata($0) },
            observedAt: observedAt
        )
        return try await registry.put(profile, for: hash, in: scope, by: "test", claimant: claimant)
    }

    func logOut(at observedAt: Date?) async throws {
        try await registry.logOut(hash, observedAt: observedAt, in: scope, by: "test", claimant: claimant)
    }

    func release(_ slot: TokenSlot = Self.delivery) async throws {
        try await registry.releaseToken(in: slot, of: hash, in: scope, by: "test")
    }

    func record() async throws -> InstallationRecord? { try await registry.installation(hash, in: scope) }

    func token(in slot: TokenSlot = Self.delivery) async throws -> PushToken? {
        let sql: SQL = """
            SELECT token FROM deliverable_installation_tokens WHERE installation_hash = \(hash.bytes)
                AND kind = \(slot.kind.name) AND attributes_type = \(slot.attributesType?.rawValue ?? "")
            """
        return try await database.column(sql, as: [UInt8].self).first.map { PushToken(bytes: $0) }
    }

    func found(_ alias: Alias, _ kind: TokenKind = .start) async throws -> [PushToken] {
        try await registry.tokens(under: alias, kind, limit: 100, in: scope).map(\.token)
    }

    func events() async throws -> [String] {
        try await column(
            """
            SELECT type FROM events WHERE installation_hash = \(hash.bytes) AND activity_id IS NULL ORDER BY event_number
            """
        )
    }
}
