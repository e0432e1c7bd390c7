import Foundation
import RegistryCore
import RegistryStore
import TestSupport

/// One (liveactivityId, owner) and what a test does with it.
struct TestIdentity {
    enum Step {
        case post(Int, Date)
        case end(Date)
    }

    let database: TestDatabase
    let scope: Scope
    let alias: UTF8Text

    /// - Parameter sharing: identities that share a name share a schema, and differ in their alias.
    static func make(sharing name: String? = nil) async throws -> TestIdentity {
        let database =
            if let name { try await SharedDatabases.shared.database(name) } else { try await TestDatabase.make() }
        return TestIdentity(database: database, scope: try await database.scope(), alias: UTF8Text(UUID().uuidString))
    }

    @discardableResult
    func post(
        _ token: Int,
        at observedAt: Date? = nil,
        startedAt: Date? = nil,
        startsAt: Date? = nil,
        owner: ActivityOwner = .app,
        aliases: [Alias]? = nil
    ) async throws -> RegistrationResult {
        // Identities of one schema must not take each other's tokens.
        let value = PushToken(bytes: PushToken.sample(token).bytes + alias.string.utf8)
        let registration = ActivityRegistration.sample(
            token: value,
            observedAt: observedAt,
            startedAt: startedAt,
            startsAt: startsAt,
            aliases: aliases
        )
        return try await database.registry.register(registration, alias: alias, owner: owner, in: scope, by: "test")
    }

    func end(at observedAt: Date? = nil, owner: ActivityOwner = .app) async throws {
        try await database.registry.end(
            alias: alias,
            owner: owner,
            reason: .ended,
            observedAt: observedAt,
            in: scope,
            by: "test"
        )
    }

    /// Plays a step; refusals are part of the game.
    func play(_ step: Step) async {
        switch step {
        case .post(let token, let time): _ = try? await post(token, at: time)
        case .end(let time): try? await end(at: time)
        }
    }

    /// The activities that a sender sees, without what the server makes itself.
    func view() async throws -> [ResolvedActivity] {
        try await activities().map { activity in
            ResolvedActivity(
                key: 0,
                activityID: .sample("any"),
                token: PushToken(bytes: Array(activity.token.bytes.prefix(80))),
                startedAt: activity.startedAt,
                observedAt: activity.observedAt,
                confirmedAt: .distantPast,
                expiresAt: activity.expiresAt,
                revision: 0
            )
        }
    }

    func tokens() async throws -> [PushToken] {
        try await activities().map { PushToken(bytes: Array($0.token.bytes.prefix(80))) }
    }

    func problem<Value>(_ call: () async throws -> Value) async -> Problem? {
        do {
            _ = try await call()
            return nil
        } catch { return error as? Problem }
    }

    func activities() async throws -> [ResolvedActivity] {
        try await database.registry.activities(under: .sample("liveactivityId", alias.string), limit: 100, in: scope)
    }
}

/// Schemas that several parts of a test share.
actor SharedDatabases {
    static let shared = SharedDatabases()
    private var databases: [String: Task<TestDatabase, any Error>] = [:]

    func database(_ name: String) async throws -> TestDatabase {
        let task = databases[name] ?? Task { try await TestDatabase.make() }
        databases[name] = task
        return try await task.value
    }
}
