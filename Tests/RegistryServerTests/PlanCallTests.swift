import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.service, .timeLimit(.minutes(15))) struct PlanCallTests {
    @Test func `A lease may be returned twice, and a reported failure ends one`() async throws {
        let phone = "…/installations/phone-1"
        _ = try await server.call(.put, phone, ["aliases": ["userId": "u-7"]])
        #expect(try await server.call(.put, phone + "/start-tokens/Delivery", ["token": .token(1)]).status == 201)
        func plan() async throws -> JSONValue {
            let alias: JSONValue = ["kind": "liveactivityId", "value": "order-42"]
            let body: JSONValue = [
                "alias": alias, "to": [["kind": "userId", "value": "u-7"]], "attributesType": "Delivery",
            ]
            return try await server.call(.post, "…/plan", body)["installations"][0]
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
}
