import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite(.service, .timeLimit(.minutes(15))) struct PlanCallTests {
    private static let body: JSONValue = [
        "alias": ["kind": "liveactivityId", "value": "order-42"], "to": [["kind": "userId", "value": "u-7"]],
        "attributesType": "Delivery",
    ]

    @Test func `A lease may be returned twice, and a reported failure ends one`() async throws {
        let phone = "…/installations/phone-1"
        _ = try await server.call(.put, phone, ["aliases": ["userId": "u-7"]])
        #expect(try await server.call(.put, phone + "/start-tokens/Delivery", ["token": .token(1)]).status == 201)
        func plan() async throws -> JSONValue {
            try await server.call(.post, "…/plan", Self.body)["installations"][0]
        }
        let first = try #require(try await plan()["leaseId"]?.string)
        for _ in 1...2 {
            #expect(try await server.call(.delete, "…/plan/leases/\(first.uppercased())").status == 204)
        }
        let second = try await plan()
        #expect(second["action"] == "start")
        #expect(second["attempt"] == 1)
        let lease = second["leaseId"] ?? .null
        let reports: JSONValue = [
            "reports": [
                ["token": .token(1), "status": 503, "leaseId": lease],
                ["token": .token(1), "status": 503, "leaseId": "x"],
                ["token": .token(1), "status": 503, "leaseId": .null],
            ]
        ]
        let results = try await server.call(.post, "…/feedback", reports)["results"]
        #expect(results[0]["action"] == "kept" && results[2]["action"] == "kept")
        #expect(results[1]["problem"]?["errors"]?.all("pointer") == ["/reports/1/leaseId"])
        let wait = try await plan()
        #expect(wait["reason"] == "back-off")
        #expect(wait["leasedUntil"] == nil)
    }

    @Test func `An activity is renewed 30 minutes before its end, and the old one ended`() async throws {
        let phone = "…/installations/phone-1"
        _ = try await server.call(.put, phone, ["aliases": ["userId": "u-7"]])
        _ = try await server.call(.put, phone + "/start-tokens/Delivery", ["token": .token(1)])
        func register(_ id: String, _ token: Int, startedAt: JSONValue = .null) async throws {
            let body: JSONValue = [
                "token": .token(token), "aliases": ["liveactivityId": "order-42"], "installationId": "phone-1",
                "startedAt": startedAt,
            ]
            #expect(try await server.call(.put, "…/activities/\(id)", body).status == 201)
        }
        func plan() async throws -> JSONValue {
            guard case .object(var body) = Self.body else { return .null }
            body["renewBefore"] = "PT30M"
            return try await server.call(.post, "…/plan", .object(body))["installations"]
        }
        try await register("a-1", 11, startedAt: .minutesAgo(460))
        let renewal = try await plan()[0]
        #expect(renewal["action"] == "renew" && renewal["token"] == .token(1) && renewal["leaseId"] != nil)
        #expect(renewal["replaces"]?["activityId"] == "a-1" && renewal["replaces"]?["token"] == .token(11))
        let update = try await plan()[0]
        #expect(update["action"] == "update" && update["retryAt"] == renewal["leasedUntil"])
        try await register("a-2", 12)
        let both = try await plan()
        #expect(both.all("action") == ["end", "update"] && both.all("activityId") == ["a-1", "a-2"])
        #expect(both.all("token") == [.token(11), .token(12)] && both[0]["retryAt"] == nil)
        #expect(try await server.call(.delete, "…/activities/a-1").status == 204)
        let new = try await plan()
        #expect(new.all("activityId") == ["a-2"] && new[0]["retryAt"] != nil)
    }
}
