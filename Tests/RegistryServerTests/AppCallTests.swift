import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AppCallTests {
    @Test("An app is made, changed, listed and deleted") func aLife() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let path = "/v1/apps/com.example.taxi"
            #expect(try await server.call(.get, path).problem == "unknown-app")
            #expect(
                try await server.call(.put, "\(path)/sandbox/activities/a", ["token": "00"]).problem == "unknown-app"
            )
            let made = try await server.call(.put, path, ["name": "Taxi", "aliasRules": ["orderId": "backend"]])
            #expect(made.status == 201 && made["bundleId"] == "com.example.taxi" && made["name"] == "Taxi")
            #expect(made["activityLifetime"] == "PT8H" && made["tombstoneRetention"] == "P7D")
            #expect(made["aliasRules"] == ["orderId": "backend"] && made["eventRetention"] == "P90D")
            #expect(made.json["number"] == nil && made.json["jwt"] == nil)
            // Unknown apps are not remembered as such, so the very next call finds it.
            #expect(try await server.call(.put, "\(path)/sandbox/activities/a", ["token": "00"]).status == 201)
            let changed = try await server.call(.put, path, ["activityLifetime": "PT12H"])
            #expect(changed.status == 200 && changed["name"] == "Taxi" && changed["activityLifetime"] == "PT12H")
            let listed = try await server.call(.get, "/v1/apps")
            #expect(listed["apps"].all("bundleId") == ["com.example.food", "com.example.taxi"])
            #expect(listed["apps"][1] == changed.json)
            let shown = try await server.call(.get, path)
            #expect(shown["quarantineGuards"] == [])
            #expect(shown["activityLifetime"] == "PT12H" && shown["updatedAt"] == changed["updatedAt"])
            #expect(try await server.call(.delete, path).status == 204)
            #expect(try await server.call(.delete, path).problem == "unknown-app")
            #expect(try await server.call(.get, "\(path)/sandbox/activities/a").problem == "unknown-app")
        }
    }

    /// It is known for some seconds more where it was seen before.
    @Test("A deleted app's key does not make the app again") func aDeletedAppStaysDeleted() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let path = "/v1/apps/com.example.food"
            let admin = try await server.key(.admin)
            #expect(try await server.call(.put, path, ["name": "Food"], admin.fields).status == 200)
            #expect(try await server.call(.delete, path).status == 204)
            let again = try await server.call(.put, path, ["name": "Food"], admin.fields)
            #expect(again.status == 404 || again.status == 401)
            #expect(try await server.call(.get, path).problem == "unknown-app")
        }
    }

    @Test("JWT settings come back") func jwtSettingsComeBack() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let jwt: JSONValue = ["issuer": "i", "audience": ["a", "b"], "jwks": TestIssuer.honest.keySet]
            let path = "/v1/apps/com.example.food"
            let set = try await server.call(.put, path, ["jwt": jwt])
            #expect(set["jwt"] == jwt)
            let kept = try await server.call(.put, path, ["name": "Food"])
            #expect(kept["jwt"] == jwt)
            let cleared = try await server.call(.put, path, ["jwt": [:]])
            #expect(cleared.json["jwt"] == nil)
        }
    }

    /// Of more keys of one kid than are tried, one would never be.
    @Test("A fifth key of one kid is refused") func aFifthKeyOfOneKidIsRefused() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let path = "/v1/apps/com.example.keys"
            let keys = (0..<5).map { _ in JSONValue.object(TestIssuer().publicKey(.ec)) }
            func put(_ count: Int) async throws -> Reply {
                let jwks: JSONValue = ["keys": .array(Array(keys.prefix(count)))]
                return try await server.call(.put, path, ["jwt": ["issuer": "i", "audience": "a", "jwks": jwks]])
            }
            #expect(try await put(5).problem == "invalid-request /jwt/jwks/keys/4")
            #expect(try await put(4).status == 201)
        }
    }

    @Test("Tombstones outlive activities") func tombstonesOutliveActivities() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let path = "/v1/apps/com.example.food"
            let both: JSONValue = ["activityLifetime": "PT8H", "tombstoneRetention": "PT8H"]
            #expect(try await server.call(.put, path, both).problem == "invalid-request /tombstoneRetention")
            // Against the stored lifetime it is the store that sees it.
            let stored = try await server.call(.put, path, ["tombstoneRetention": "PT1H"])
            #expect(stored.problem == "invalid-request /tombstoneRetention")
            #expect(try await server.call(.put, "/v1/apps/b%20d", [:]).problem == "invalid-request /bundleId")
        }
    }
}
