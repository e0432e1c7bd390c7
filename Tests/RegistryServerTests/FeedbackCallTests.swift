import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct FeedbackCallTests {
    @Test("Each report is answered in its place") func answersInPlace() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...3 { try await server.register("a-\(number)", token: number) }
            let body: JSONValue = [
                "reports": [
                    ["token": .token(1), "status": 410, "reason": "Unregistered"],
                    ["token": "xyz", "status": 7], 7,
                    ["token": .token(2), "status": 400, "reason": "BadDeviceToken", "apnsId": "x"],
                    ["token": .token(3), "status": 410, "reason": "Unregistered", "timestamp": 1000],
                    ["token": .token(3), "status": 503], ["token": .token(3), "status": 200],
                    ["token": .token(9), "status": 410],
                ]
            ]
            let reply = try await server.call(.post, "…/feedback", body)
            let results = reply["results"]
            #expect(reply.status == 200)
            #expect(results[1]["problem"]?["errors"]?.all("pointer") == ["/reports/1/token", "/reports/1/status"])
            #expect(results[2]["problem"]?["status"] == 422)
            let actions = [0, 3, 4, 5, 6, 7].map { results[$0]["action"] }
            #expect(actions == ["dropped", "quarantined", "kept-newer", "kept", "delivered", "unknown"])
            #expect(results[8] == .null)
            let left = try await server.call(.get, "…/aliases/liveactivityId/order-42/activities")
            #expect(left["activities"].all("token") == [.token(3)])
            #expect(try await server.call(.get, "…/activities/a-1")["reason"] == "unregistered")
            #expect(try await server.call(.post, "…/activities/a-2/release")["released"] == 1)
            #expect(try await server.call(.post, "…/activities/a-2/release")["released"] == 0)
            #expect(try await server.call(.get, "…/activities/a-2")["token"] == .token(2))
        }
    }

    @Test("Reports of one token are bounded") func reportsOfOneTokenAreBounded() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await server.register("a-1", token: 1)
            let reports = (1...12).map { number -> JSONValue in
                ["token": .token(1), "status": 410, "timestamp": .integer(Int64(number))]
            }
            let results = try await server.call(.post, "…/feedback", ["reports": .array(reports + reports)])["results"]
            for index in 0..<24 {
                #expect(results[index]["action"] == (index % 12 < 8 ? "kept-newer" : nil), "\(index)")
                #expect(results[index]["problem"]?["status"] == (index % 12 < 8 ? nil : 422), "\(index)")
            }
        }
    }

    @Test("The envelope of feedback is checked") func envelopeIsChecked() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let tooMany = JSONValue.array([JSONValue](repeating: ["token": "00", "status": 200], count: 1001))
            #expect(try await server.call(.post, "…/feedback", [:]).problem == "invalid-request /reports")
            let reply = try await server.call(.post, "…/feedback", ["reports": tooMany])
            #expect(reply.problem == "invalid-request /reports")
            #expect(try await server.call(.post, "…/feedback", ["reports": []]).json == ["results": []])
        }
    }

    @Test("An admin releases all quarantined tokens") func adminReleasesAll() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...3 { try await server.register("a-\(number)", token: number) }
            let reports = (1...3).map { number -> JSONValue in
                ["token": .token(number), "status": 400, "reason": "DeviceTokenNotForTopic"]
            }
            _ = try await server.call(.post, "…/feedback", ["reports": .array(reports)])
            #expect(try await server.call(.post, "…/release")["released"] == 3)
        }
    }
}
