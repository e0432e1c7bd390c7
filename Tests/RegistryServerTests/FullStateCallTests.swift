import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct FullStateCallTests {
    private static let path = "…/installations/i-1/activities"

    @Test("Each item of a full state is answered in its place") func answersInPlace() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            _ = try await server.call(.delete, "…/activities/ended")
            let body: JSONValue = [
                "observedAt": .minutesAgo(1),
                "activities": [
                    ["activityId": "a-1", "token": .token(1)], ["activityId": "bad", "token": "xyz"], ["token": "00"],
                    ["activityId": "ended", "token": .token(2)], ["activityId": "a-2"],
                ],
            ]
            let reply = try await server.call(.put, Self.path, body)
            let results = reply["results"]
            #expect(reply.status == 200 && reply["ended"] == [])
            #expect(results[0] == ["activityId": "a-1", "outcome": "registered"])
            #expect(results[1]["activityId"] == "bad" && results[1]["problem"]?["code"] == "invalid-request")
            #expect(results[1]["problem"]?["errors"]?[0]["pointer"] == "/activities/1/token")
            #expect(results[2]["activityId"] == nil && results[2]["problem"]?["status"] == 422)
            #expect(results[3]["activityId"] == "ended" && results[3]["problem"]?["code"] == "activity-ended")
            #expect(results[4] == ["activityId": "a-2", "outcome": "registered"])
            #expect(results[5] == .null)
        }
    }

    @Test("What is not listed falls out") func whatIsNotListedFallsOut() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let first: JSONValue = [
                "observedAt": .minutesAgo(2),
                "activities": [["activityId": "a-1", "token": .token(1)], ["activityId": "a-2", "token": .token(2)]],
            ]
            #expect(try await server.call(.put, Self.path, first).status == 200)
            // A malformed item with a readable id is present still.
            let second: JSONValue = [
                "observedAt": .minutesAgo(1), "activities": [["activityId": "a-2", "token": 5]],
            ]
            #expect(try await server.call(.put, Self.path, second)["ended"] == ["a-1"])
            #expect(try await server.call(.get, "…/activities/a-1")["state"] == "dismissed")
            #expect(try await server.call(.get, "…/activities/a-2")["state"] == "active")
        }
    }

    /// Each activity and each token counts where it is listed first; places are those of the body.
    @Test("Repetitions are refused in place") func repetitionsAreRefusedInPlace() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let body: JSONValue = [
                "observedAt": .minutesAgo(1),
                "activities": [
                    ["token": "00"], ["activityId": "a-1", "token": .token(1)],
                    ["activityId": "a-1", "token": .token(2)],
                    ["activityId": "a-2", "token": .token(1)],
                ],
            ]
            let results = try await server.call(.put, Self.path, body)["results"]
            #expect(results[1] == ["activityId": "a-1", "outcome": "registered"])
            #expect(results[2]["problem"]?["errors"]?.all("pointer") == ["/activities/2/activityId"])
            #expect(results[3]["problem"]?["errors"]?.all("pointer") == ["/activities/3/token"])
            #expect(try await server.call(.get, "…/activities/a-1")["token"] == .token(1))
            #expect(try await server.call(.get, "…/activities/a-2")["state"] == "active")
        }
    }

    @Test("Installations must agree") func installationsMustAgree() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let body: JSONValue = ["observedAt": .minutesAgo(1), "activities": [], "installationId": "i-1"]
            #expect(try await server.call(.put, Self.path, body, [.installationID: "i-1"]).status == 200)
            let other = try await server.call(.put, Self.path, body, [.installationID: "i-2"])
            #expect(other.problem == "invalid-request /installationId /installationId")
            let registration: JSONValue = ["token": .token(1), "installationId": "i-1"]
            let path = "…/activities/a-1"
            #expect(try await server.call(.put, path, registration, [.installationID: "i-1"]).status == 201)
            let differing = try await server.call(.put, path, registration, [.installationID: "i-2"])
            #expect(differing.problem == "invalid-request /installationId")
        }
    }
}
