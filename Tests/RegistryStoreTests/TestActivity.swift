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

    func tokens(_ alias: Alias) async throws -> [PushToken] {
        try await found(under: alias).map(\.token)
    }

    func events() async throws -> [String] {
        try await column("SELECT type FROM events WHERE activity_id = \(id.rawValue) ORDER BY event_number")
    }

    /// The reasons of its former tokens, the latest first.
    func retired() async throws -> [String] {
        try await registry.life(of: id, events: 1, in: scope)?.retired.map(\.reason) ?? []
    }
}
