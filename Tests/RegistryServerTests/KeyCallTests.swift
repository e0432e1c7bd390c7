import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct KeyCallTests {
    private static let path = "/v1/apps/com.example.food/keys"

    @Test(.secureService) func `A key is created, used, listed and revoked`() async throws {
        let admin = try await server.key(.admin)
        let body: JSONValue = ["role": "sender", "name": "Push", "expiresIn": "P90D"]
        let made = try await server.call(.post, Self.path, body, admin.fields)
        #expect(made.status == 201)
        #expect(made.fields[.cacheControl] == "no-store")
        #expect(made["role"] == "sender")
        #expect(made["app"] == "com.example.food")
        #expect(made["name"] == "Push")
        let (text, id) = (try #require(made["key"].string), try #require(made["id"].string))
        let sender: HTTPFields = [.authorization: "bearer  \(text)"]
        #expect(try await server.call(.get, "…/activities/none", nil, sender).problem == "activity-not-found")
        let listed = try await server.call(.get, Self.path, nil, admin.fields)
        #expect(listed["keys"].all("id") == [.string(admin.key.id.rawValue), .string(id)])
        #expect(listed["keys"].all("key").allSatisfy(\.isNull) && listed["keys"][1]["expiresAt"] != nil)
        #expect(!listed.text.contains(text.suffix(30)))
        for _ in 0..<2 {
            #expect(try await server.call(.delete, "\(Self.path)/\(id)", nil, admin.fields).status == 204)
        }
        #expect(try await server.call(.get, "…/activities/none", nil, sender).problem == "unauthenticated")
        #expect(try await server.call(.get, Self.path, nil, admin.fields)["keys"][1]["revokedAt"] != nil)
        for unknown in ["prs_000000000000", "x", "%2E"] {
            let reply = try await server.call(.delete, "\(Self.path)/\(unknown)", nil, admin.fields)
            #expect(reply.problem == "key-not-found")
        }
    }

    @Test func `A key that expired or was revoked on another instance is refused`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        let clock = ManualClock()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false, clock: clock.clock) { here in
            let (sender, admin) = (try await here.key(.sender), try await here.key(.admin))
            let short = try await here.key(.sender, expiresAt: clock.now.addingTimeInterval(2))
            try await LiveServer.run(on: database.anotherRegistry(), insecureNoAuth: false) { there in
                let path = "…/activities/none"
                for key in [sender, short] { #expect(try await here.call(.get, path, nil, key.fields).status == 404) }
                let revoked = try await there.call(.delete, "\(Self.path)/\(sender.key.id)", nil, admin.fields)
                #expect(revoked.status == 204)
                #expect(try await there.call(.get, path, nil, sender.fields).status == 401)
                // This instance may accept the key for less than five seconds.
                #expect(try await here.call(.get, path, nil, sender.fields).status == 404)
                clock.advance(by: .seconds(2))
                #expect(try await here.call(.get, path, nil, short.fields).status == 401)
                clock.advance(by: .seconds(2.9))
                #expect(try await here.call(.get, path, nil, sender.fields).status == 401)
            }
        }
    }

    @Test(.timedService()) func `The last use is written once a minute`() async throws {
        let scope = try await database.scope()
        let admin = try await server.key(.admin)
        func use() async throws { _ = try await server.call(.get, Self.path, nil, admin.fields) }
        func lastUse() async throws -> Date? { try await database.registry.keys(of: scope.app).first?.lastUsedAt }
        func written(_ time: Date) async throws {
            while try await lastUse().map({ abs($0.timeIntervalSince(time)) > 0.001 }) ?? true {
                await Task.yield()
            }
        }
        let first = clock.now
        try await use()
        try await written(first)
        clock.advance(by: .seconds(59))
        try await use()
        clock.advance(by: .seconds(1))
        try await use()
        try await written(first.addingTimeInterval(60))
    }

    @Test func `Unknown ids are cached`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let (clock, key) = (ManualClock(), APIKey(random: .client))
        let directory = KeyDirectory(registry: database.registry, clock: clock.clock)
        func isValid(_ key: APIKey) async throws -> Bool {
            try await directory.validKey(key.id) { $0.digest == key.secretDigest } != nil
        }
        func lookups() -> Int { database.registry.metrics.statements[.reads]?.snapshot.count ?? 0 }
        let request = APIKeyRequest(role: .client)
        let app = scope.app
        _ = try await database.registry.createKey(key.id, digest: key.secretDigest, request, of: app, by: "test")
        let (before, unknown) = (lookups(), APIKey(random: .client))
        for _ in 0..<1000 {
            #expect(try await isValid(key))
            #expect(try await !isValid(unknown))
        }
        #expect(lookups() == before + 2)
        clock.advance(by: KeyDirectory.lifetime)
        #expect(try await isValid(key))
        #expect(try await !isValid(unknown))
        #expect(lookups() == before + 4)
    }

    /// An instance that knew the app accepts its key for some seconds.
    @Test(.service) func `A deleted app's key does not create the app again`() async throws {
        let path = "/v1/apps/com.example.food"
        let admin = try await server.key(.admin)
        #expect(try await server.call(.put, path, ["name": "Food"], admin.fields).status == 200)
        #expect(try await server.call(.delete, path).status == 204)
        let again = try await server.call(.put, path, ["name": "Food"], admin.fields)
        #expect(again.status == 404 || again.status == 401)
        #expect(try await server.call(.get, path).problem == "unknown-app")
    }
}
