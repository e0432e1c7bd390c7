import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import TestSupport

@testable import RegistryStore

struct TestActivity: Fixture {
    let database: TestDatabase
    let scope: Scope
    let id: ActivityID

    static func make(_ id: String = "activity") async throws -> TestActivity {
        let database = try await TestDatabase.make()
        return TestActivity(database: database, scope: try await database.scope(), id: .sample(id))
    }

    func another(_ id: String) -> TestActivity { activity(id) }

    /// The activity at another instance of the service.
    func elsewhere() -> TestActivity {
        TestActivity(database: database.on(database.anotherRegistry()), scope: scope, id: id)
    }

    @discardableResult
    func register(
        _ token: Int?,
        at observedAt: Date?,
        startedAt: Date? = nil,
        startsAt: Date? = nil,
        installation: InstallationHash? = nil,
        aliases: [Alias]? = nil,
        attributesType: String? = nil,
        claimant: Claimant = .any
    ) async throws -> RegistrationResult {
        let registration = ActivityRegistration.sample(
            token: token.map { .sample($0) },
            observedAt: observedAt,
            startedAt: startedAt,
            startsAt: startsAt,
            installation: installation,
            aliases: aliases,
            attributesType: attributesType
        )
        return try await registry.register(registration, as: id, in: scope, by: "test", claimant: claimant)
    }

    func end(reason: EndReason = .ended, at time: Date? = nil, claimant: Claimant = .any) async throws {
        try await registry.end(id, reason: reason, observedAt: time, in: scope, by: "test", claimant: claimant)
    }

    func record() async throws -> ActivityRecord? { try await registry.activity(id, in: scope) }
    func currentToken() async throws -> PushToken? { try await record()?.token }
    func tokens(_ alias: Alias) async throws -> [PushToken] { try await found(under: alias).map(\.token) }

    func events() async throws -> [String] {
        try await column("SELECT type FROM events WHERE activity_id = \(id.rawValue) ORDER BY event_number")
    }

    /// The reasons of its former tokens, the latest first.
    func retired() async throws -> [String] {
        try await registry.life(of: id, events: 1, in: scope)?.retired.map(\.reason) ?? []
    }
}

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

    func events() async throws -> [String] {
        try await column(
            """
            SELECT type FROM events WHERE installation_hash = \(hash.bytes) AND activity_id IS NULL ORDER BY event_number
            """
        )
    }
}

struct TestIdentity: Fixture {
    let database: TestDatabase
    let scope: Scope
    let alias: UTF8Text

    @discardableResult
    func post(
        _ token: Int,
        at observedAt: Date? = nil,
        startsAt: Date? = nil,
        owner: ActivityOwner = .app,
        aliases: [Alias]? = nil,
        claimant: Claimant = .any
    ) async throws -> RegistrationResult {
        let registration = ActivityRegistration.sample(
            token: .sample(token),
            observedAt: observedAt,
            startsAt: startsAt,
            aliases: aliases
        )
        return try await registry.register(
            registration,
            alias: alias,
            owner: owner,
            in: scope,
            by: "test",
            claimant: claimant
        )
    }

    func end(at observedAt: Date? = nil, owner: ActivityOwner = .app, claimant: Claimant = .any) async throws {
        try await registry.end(
            alias: alias,
            owner: owner,
            reason: .ended,
            observedAt: observedAt,
            in: scope,
            by: "test",
            claimant: claimant
        )
    }

    func tokens() async throws -> [PushToken] {
        try await found(under: .sample("liveactivityId", alias.string)).map(\.token)
    }
}
