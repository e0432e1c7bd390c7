import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

/// The plan, as senders call it.
@Suite(.timeLimit(.minutes(15))) struct PlanCallTests {
    private static let order: JSONValue = ["kind": "liveactivityId", "value": "order-42"]
    private static let user: JSONValue = ["kind": "userId", "value": "u-7"]

    private struct Unexpected: Error {}

    private static func body(_ more: JSONObject = [:]) -> JSONValue {
        var body: JSONObject = ["alias": order, "to": [user], "attributesType": "Delivery"]
        for member in more { body[member.key] = member.value }
        return .object(body)
    }

    private static func install(_ server: LiveServer, _ id: String = "phone-1", token: Int = 1) async throws {
        _ = try await server.call(.put, "…/installations/\(id)", ["aliases": ["userId": "u-7"]])
        let start = "…/installations/\(id)/start-tokens/Delivery"
        #expect(try await server.call(.put, start, ["token": .token(token)]).status == 201)
    }

    @Test("A plan tells how to start, and then to wait, to update and to alert") func aPlanTellsEachStep() async throws
    {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await Self.install(server)
            let plan = try await server.call(.post, "…/plan", Self.body(["lease": "PT10M"]))
            #expect(plan.status == 200 && plan.fields[.cacheControl] == "no-store")
            #expect(plan["alias"] == Self.order && plan["pushType"] == "liveactivity")
            #expect(plan["topic"] == "com.example.food.push-type.liveactivity")
            let start = plan["installations"][0]
            #expect(start["action"] == "start" && start["token"] == .token(1) && start["attempt"] == 1)
            let wait = try await server.call(.post, "…/plan", Self.body())["installations"][0]
            #expect(wait["action"] == "wait" && wait["reason"] == "leased")
            #expect(wait["leasedUntil"] == start["leasedUntil"] && wait["retryAt"] == start["leasedUntil"])
            #expect(wait["token"] == nil)
            let registration: JSONValue = [
                "token": .token(2), "installationId": "phone-1", "aliases": ["liveactivityId": "order-42"],
            ]
            #expect(try await server.call(.put, "…/activities/a-1", registration).status == 201)
            let update = try await server.call(.post, "…/plan", Self.body())["installations"][0]
            #expect(update["action"] == "update" && update["token"] == .token(2) && update["activityId"] == "a-1")
            #expect(update["installation"] == start["installation"])
            #expect(try await server.call(.delete, "…/activities/a-1?reason=dismissed").status == 204)
            #expect(
                try await server.call(.put, "…/installations/phone-1/device-token", ["token": .token(3)]).status == 201
            )
            let alert = try await server.call(.post, "…/plan", Self.body())["installations"][0]
            #expect(alert["action"] == "alert" && alert["reason"] == "dismissed" && alert["token"] == .token(3))
            #expect(alert["topic"] == "com.example.food" && alert["pushType"] == "alert")
        }
    }

    @Test("A lease is given back, also twice, and a failure that is reported ends one") func aLeaseEnds() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await Self.install(server)
            func plan() async throws -> JSONValue {
                try await server.call(.post, "…/plan", Self.body())["installations"][0]
            }
            guard case .string(let first)? = try await plan()["leaseId"] else { throw Unexpected() }
            for _ in 1...2 {
                #expect(try await server.call(.delete, "…/plan/leases/\(first.uppercased())").status == 204)
            }
            let second = try await plan()
            #expect(second["action"] == "start" && second["attempt"] == 1)
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
            #expect(wait["reason"] == "back-off" && wait["leasedUntil"] == nil)
        }
    }

    @Test("Every fault of a plan is named at once") func everyFaultIsNamed() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let wrong: JSONValue = [
                "alias": ["kind": "7", "value": ""], "to": [["kind": "userId"], 7], "attributesType": 7,
                "lease": "PT59S",
                "maxStartTokenAge": "P1Y", "restartDismissed": "no", "planId": "", "limit": 1001, "cursor": 7,
            ]
            let faults = try await server.call(.post, "…/plan", wrong)["errors"].all("pointer")
            #expect(
                Set(faults) == [
                    "/alias/kind", "/alias/value", "/to/0/value", "/to/1", "/attributesType", "/lease",
                    "/maxStartTokenAge", "/restartDismissed", "/planId", "/limit", "/cursor",
                ]
            )
            let many = JSONValue.array([JSONValue](repeating: Self.user, count: 101))
            #expect(try await server.call(.post, "…/plan", Self.body(["to": many])).problem == "invalid-request /to")
            #expect(try await server.call(.post, "…/plan", Self.body(["to": 7])).problem == "invalid-request /to")
            #expect(
                try await server.call(.post, "…/plan", Self.body(["lease": "PT8H1S"])).problem
                    == "invalid-request /lease"
            )
            #expect(try await server.call(.post, "…/plan", Self.body(["lease": "PT8H"])).status == 200)
            #expect(try await server.call(.post, "…/plan", [:]).problem == "invalid-request /alias /attributesType")
            #expect(try await server.call(.delete, "…/plan/leases/x").problem == "invalid-request /leaseId")
        }
    }

    @Test("Pages of a plan follow one another, and no other plan takes their cursor") func pagesFollowOneAnother()
        async throws
    {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...3 { try await Self.install(server, "phone-\(number)", token: number) }
            for number in 4...5 {
                let registration: JSONValue = ["token": .token(number), "aliases": ["liveactivityId": "order-42"]]
                #expect(try await server.call(.put, "…/activities/a-\(number)", registration).status == 201)
            }
            var (tokens, cursor) = ([JSONValue](), JSONValue?.none)
            repeat {
                let page = try await server.call(.post, "…/plan", Self.body(["limit": 1, "cursor": cursor ?? .null]))
                tokens += page["installations"].all("token")
                cursor = page["nextCursor"] == .null ? nil : page["nextCursor"]
                if let cursor {
                    let other = Self.body(["cursor": cursor, "to": []])
                    #expect(try await server.call(.post, "…/plan", other).problem == "invalid-cursor /cursor")
                }
            } while cursor != nil
            #expect(Set(tokens) == Set((1...5).map(JSONValue.token)) && tokens.count == 5)
            for text in ["MTAw", "", "x"] {
                let page = try await server.call(.post, "…/plan", Self.body(["cursor": .string(text)]))
                #expect(page.problem == "invalid-cursor /cursor")
            }
        }
    }
}
