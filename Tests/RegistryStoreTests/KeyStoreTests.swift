import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct KeyStoreTests {
    private static let digest = [UInt8](repeating: 7, count: 32)

    @Test func `A stored key is found, used and revoked`() async throws {
        let database = try await TestDatabase.make()
        let (registry, app) = (database.registry, try await database.scope().app)
        let (id, expiry) = (APIKey(random: .sender).id, Date(timeIntervalSinceReferenceDate: 9e8))
        let request = APIKeyRequest(role: .sender, name: "Push", expiresAt: expiry)
        let made = try await registry.createKey(id, digest: Self.digest, request, of: app, by: "test")
        #expect(made.id == id)
        #expect(made.app == app.bundleID)
        #expect(made.name == "Push")
        #expect(made.expiresAt == expiry)
        #expect(made.revokedAt == nil)
        #expect(made.lastUsedAt == nil)
        #expect(try await registry.storedKeys(id) == [made])
        #expect(try await registry.keys(of: app) == [made])
        try await registry.noteUse(of: made, at: expiry)
        try await registry.noteUse(of: made, at: .minutesAgo(9))
        #expect(try await registry.keys(of: app).first?.lastUsedAt == expiry)
        #expect(try await registry.revokeKey(id, ofApp: app.id, by: "test"))
        let revoked = try #require(try await registry.keys(of: app).first?.revokedAt)
        #expect(try await registry.revokeKey(id, ofApp: app.id, by: "test"))
        #expect(try await registry.keys(of: app).first?.revokedAt == revoked)
        for environment in APNSEnvironment.allCases {
            let scope = Scope(app: app, environment: environment)
            #expect(try await events(scope.id, database) == ["key-created \(id)", "key-revoked \(id)"])
            let trail = try await registry.events(limit: 10, in: scope).items.map(\.type)
            #expect(trail == ["key-revoked", "key-created", "app-created"])
        }
    }

    @Test func `Root keys belong to no app`() async throws {
        let database = try await TestDatabase.make()
        let app = try await database.scope().app
        let id = APIKey(random: .root).id
        let (registry, request) = (database.registry, APIKeyRequest(role: .root))
        let made = try await registry.createKey(id, digest: Self.digest, request, of: nil, by: "test")
        #expect(made.app == nil)
        #expect(made.appID == 0)
        #expect(try await database.registry.keys(of: app).isEmpty)
        #expect(try await database.registry.keys(of: nil) == [made])
        #expect(try await !database.registry.revokeKey(id, ofApp: app.id, by: "test"))
        #expect(try await events(0, database) == ["key-created \(id)"])
        #expect(try await database.count("SELECT count(*) FROM events WHERE key_id IS NOT NULL") == 1)
    }

    @Test func `Keys are removed with their app`() async throws {
        let database = try await TestDatabase.make()
        let app = try await database.scope().app
        let id = try await database.registry.makeKey(.admin, of: app).id
        try await database.run("DELETE FROM apps")
        #expect(try await database.registry.storedKeys(id).isEmpty)
        #expect(try await database.registry.keys(of: nil).isEmpty)
        await #expect(throws: Problem.self) { try await database.registry.makeKey(.admin, of: app) }
    }

    @Test func `Concurrent lookups share a statement`() async throws {
        let database = try await TestDatabase.make()
        let (registry, app) = (database.registry, try await database.scope().app)
        let id = APIKey(random: .sender).id
        let made = try await registry.createKey(id, digest: Self.digest, APIKeyRequest(role: .sender), of: app, by: "x")
        func statements() -> Int { registry.metrics.statements[.reads]?.snapshot.count ?? 0 }
        let before = statements()
        let held = try await HeldTransaction("LOCK TABLE api_keys, apps", in: database)
        async let first = registry.storedKeys(APIKey(random: .sender).id)
        async let firstApp = registry.app(BundleID("com.example.none"))
        try await held.waitUntilSomebodyWaits(sessions: 2)
        try await withThrowingTaskGroup(of: (isKey: Bool, isApp: Bool).self) { group in
            for number in 0..<8 {
                group.addTask {
                    let keys = try await registry.storedKeys(number == 5 ? id : APIKey(random: .sender).id)
                    return (keys == [made], false)
                }
                group.addTask {
                    let name = number == 5 ? "com.example.food" : "com.example.n\(number)"
                    return (false, try await registry.app(BundleID(name)) == app)
                }
            }
            while registry.keyLookups.waitingCount < 8, !Task.isCancelled { await Task.yield() }
            while registry.appLookups.waitingCount < 8, !Task.isCancelled { await Task.yield() }
            try await held.release()
            var found = (keys: 0, apps: 0)
            for try await one in group { found = (found.keys + (one.isKey ? 1 : 0), found.apps + (one.isApp ? 1 : 0)) }
            #expect(found == (1, 1))
        }
        let (keys, none) = try await (first, firstApp)
        #expect(keys.isEmpty)
        #expect(none == nil)
        // Keys and apps each need one statement for the first lookup and one for all others.
        #expect(statements() == before + 4)
    }

    private func events(_ scope: Int64, _ database: TestDatabase) async throws -> [String] {
        try await database.column(
            """
            SELECT type || ' ' || key_id FROM events WHERE scope_id = \(scope) AND key_id IS NOT NULL
            ORDER BY event_number
            """
        )
    }
}
