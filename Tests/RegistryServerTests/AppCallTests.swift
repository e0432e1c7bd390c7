import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AppCallTests {
    @Test func `An app exists once it is created, and is gone once it is deleted`() async throws {
        try await LiveServer.run { server in
            let path = "/v1/apps/com.example.taxi"
            let activity = path + "/sandbox/activities/a"
            #expect(try await server.call(.put, activity, ["token": "00"]).problem == "unknown-app")
            let made = try await server.call(.put, path, ["name": "Taxi"])
            #expect(try await server.call(.put, activity, ["token": "00"]).status == 201)
            #expect(try await server.call(.get, "/v1/apps")["apps"][1] == made.json)
            #expect(try await server.call(.delete, path).status == 204)
            #expect(try await server.call(.get, activity).problem == "unknown-app")
        }
    }

    /// An instance that knew the app accepts its key for some seconds.
    @Test func `A deleted app's key does not create the app again`() async throws {
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
}
