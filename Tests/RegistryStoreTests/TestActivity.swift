import Foundation
import PostgresDriver
import RegistryCore
import TestSupport

@testable import RegistryStore

struct TestActivity {
    let database: TestDatabase
    let scope: Scope
    let id: ActivityID

    static func make(_ id: String = "activity") async throws -> TestActivity {
        let database = try await TestDatabase.make()
        return TestActivity(database: database, scope: try await database.scope(), id: .sample(id))
    }

    func another(_ id: String) -> TestActivity { TestActivity(database: database, scope: scope, id: .sample(id)) }

    @discardableResult
    func register(
        _ token: Int,
        at observedAt: Date?,
        startedAt: Date? = nil,
        startsAt: Date? = nil,
        installation: InstallationHash? = nil,
        aliases: [Alias]? = nil,
        attributesType: String? = nil
    ) async throws -> RegistrationResult {
        let registration = ActivityRegistration.sample(
            token: .sample(token),
            observedAt: observedAt,
            startedAt: startedAt,
            startsAt: startsAt,
            installation: installation,
            aliases: aliases,
            attributesType: attributesType
        )
        return try await database.registry.register(registration, as: id, in: scope, by: "test")
    }

    func end(reason: EndReason = .ended, at observedAt: Date? = nil) async throws {
        try await database.registry.end(id, reason: reason, observedAt: observedAt, in: scope, by: "test")
    }

    func record() async throws -> ActivityRecord? { try await database.registry.activity(id, in: scope) }

    func currentToken() async throws -> PushToken? { try await record()?.token }

    func tokens(_ alias: Alias) async throws -> [PushToken] {
        try await database.registry.activities(under: alias, limit: 100, in: scope).map(\.token)
    }

    func problem<Value>(_ call: () async throws -> Value) async -> Problem? {
        do {
            _ = try await call()
            return nil
        } catch { return error as? Problem }
    }

    func events() async throws -> [String] {
        try await column("SELECT type FROM events WHERE activity_id = \(id.rawValue) ORDER BY event_number")
    }

    func retired() async throws -> [String] {
        try await database.registry.life(of: id, events: 1, in: scope)?.retired.map(\.reason).sorted() ?? []
    }

    /// The time of the row's last write, in microseconds.
    func touchedAt() async throws -> String {
        try await column("SELECT touched_at::text FROM activities WHERE activity_id = \(id.rawValue)")[0]
    }

    func column(_ sql: SQL) async throws -> [String] {
        try await database.pool.withSession { try $0.execute(sql).decode(String.self) }
    }
}

extension TestDatabase {
    func handedOut(in scope: Scope) async throws -> Int {
        try await count("SELECT count(*) FROM deliverable_activities c WHERE c.scope_id = \(scope.id)")
    }
}
