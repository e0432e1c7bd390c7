import Foundation
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport

struct TestIdentity: Fixture {
    let database: TestDatabase
    let scope: Scope
    let alias: UTF8Text

    static func make() async throws -> TestIdentity {
        let database = try await TestDatabase.make()
        return TestIdentity(database: database, scope: try await database.scope(), alias: UTF8Text(UUID().uuidString))
    }

    @discardableResult
    func post(
        _ token: Int,
        at observedAt: Date? = nil,
        startedAt: Date? = nil,
        startsAt: Date? = nil,
        owner: ActivityOwner = .app,
        aliases: [Alias]? = nil,
        claimant: Claimant = .any
    ) async throws -> RegistrationResult {
        let registration = ActivityRegistration.sample(
            token: .sample(token),
            observedAt: observedAt,
            startedAt: startedAt,
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
