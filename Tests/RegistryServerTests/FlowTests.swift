import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct FlowTests {
    @Test func `A flash sale goes as its developers expect`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            func reserve(_ id: String, token: Int) async throws -> Reply {
                let body: JSONValue = ["token": .token(token), "aliases": ["productId": "p-1"]]
                return try await server.call(.put, "…/activities/\(id)", body)
            }
            func running() async throws -> JSONValue {
                try await server.call(.get, "…/aliases/productId/p-1/activities")["activities"].all("token").asArray
            }
            #expect(try await reserve("reservation-1", token: 1).status == 201)
            #expect(try await running() == [.token(1)])
            #expect(try await server.call(.delete, "…/activities/reservation-1").status == 204)
            #expect(try await running() == [])
            // A background retry of the first reservation's upload.
            #expect(try await reserve("reservation-1", token: 1).problem == "activity-ended")
            #expect(try await reserve("reservation-2", token: 2).status == 201)
            #expect(try await reserve("reservation-2", token: 2)["outcome"] == "refreshed")
            #expect(try await running() == [.token(2)])
        }
    }

    @Test func `A freight goes as its developers expect`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for (token, minutes) in [(1, 30.0), (2, 20.0)] {
                let body: JSONValue = ["token": .token(token), "observedAt": .minutesAgo(minutes)]
                _ = try await server.call(.put, "…/activities/truck-7", body)
            }
            let found = try await server.call(.get, "…/activities/truck-7")
            #expect(found["token"] == .token(2))
            #expect(found["topic"] == "com.example.food.push-type.liveactivity")
            #expect(found["pushType"] == "liveactivity")
            #expect(found["environment"] == "sandbox")
            #expect(try await server.call(.delete, "…/activities/truck-7").status == 204)
            let ended = try await server.call(.get, "…/activities/truck-7")
            #expect(ended["state"] == "ended")
            #expect(ended.json["token"] == nil)
            let old: JSONValue = [
                "token": .token(3), "observedAt": .minutesAgo(5), "startedAt": .minutesAgo(8 * 60 + 1),
            ]
            #expect(try await server.call(.put, "…/activities/truck-8", old).problem == "activity-expired")
            #expect(try await server.call(.get, "…/activities/truck-8").json["token"] == nil)
        }
    }

    @Test func `A drone delivery goes as its developers expect`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            func post(_ token: Int) async throws -> Reply {
                try await server.call(.post, "…/activities", ["token": .token(token), "alias": "flight-9"])
            }
            func tokens() async throws -> JSONValue {
                try await server.call(.get, "…/aliases/liveactivityId/flight-9/activities")["activities"]
                    .all("token").asArray
            }
            let first = try await post(1)
            #expect(first.status == 201)
            #expect(first["state"] == "active")
            #expect(try await post(2)["outcome"] == "rotated")
            #expect(try await post(1).problem == "superseded")
            #expect(try await tokens() == [.token(2)])
            #expect(try await server.call(.delete, "…/activities?alias=flight-9").status == 204)
            #expect(try await tokens() == [])
            #expect(try await post(2).problem == "activity-ended")
            let second = try await post(3)
            #expect(second.status == 201)
            #expect(second["activityId"] != first["activityId"])
            let id = try #require(second["activityId"].string)
            #expect(try await server.call(.delete, "…/activities/\(id)?reason=dismissed").status == 204)
            let dismissed = try await server.call(.get, "…/activities/\(id)")
            #expect(dismissed["state"] == "ended")
            #expect(dismissed["reason"] == "dismissed")
        }
    }

    @Test func `A retailer's order goes as its developers expect`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await server.register("order-1", token: 1, alias: "o-1")
            try await server.register("order-1", token: 2, alias: "o-1")
            let both: JSONValue = ["aliases": [["kind": "liveactivityId", "value": "o-1"]]]
            let result = try await server.call(.post, "…/resolve", both)["results"][0]
            #expect(result["activities"]?.all("token") == [.token(2)])
            // Device tokens are a separate resource: activities are not listed there, and a device token is not
            // accepted for an activity.
            #expect(try await server.call(.get, "…/aliases/liveactivityId/o-1/device-tokens")["tokens"] == [])
            let device = "…/installations/i-1/device-token"
            #expect(try await server.call(.put, device, ["token": .token(9)]).status == 201)
            let wrong = try await server.call(.put, "…/activities/order-1", ["token": .token(9)])
            #expect(wrong.problem == "token-kind-conflict")
            #expect(try await server.call(.delete, "…/aliases/liveactivityId/o-1/activities")["ended"] == 1)
            let after = try await server.call(.post, "…/resolve", both)["results"][0]
            #expect(after["activities"] == [])
        }
    }
}

extension [JSONValue] {
    fileprivate var asArray: JSONValue { .array(self) }
}
