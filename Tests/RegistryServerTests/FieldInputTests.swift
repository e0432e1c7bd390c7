import Foundation
import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

/// Requests as phones, senders and browsers of other projects send them.
@Suite(.timeLimit(.minutes(15))) struct FieldInputTests {
    /// Zero dates of other calendars and languages, and a phone that was a day behind.
    @Test func `A wrong clock ends no activity`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            func put(_ id: String, _ times: JSONObject) async throws -> Reply {
                let body: JSONObject = ["token": .token(1)]
                return try await server.call(.put, "…/activities/\(id)", .object(body.overlaid(by: times)))
            }
            #expect(try await put("x", [:]).status == 201)
            for (field, time) in [("observedAt", "1970-01-01T00:00:00Z"), ("startedAt", "0001-01-01T00:00:00Z")] {
                #expect(try await put("x", JSONObject([(field, .string(time))])).problem == "clock-skew /\(field)")
            }
            #expect(try await server.call(.get, "…/activities/x")["state"] == "active")
            #expect(try await put("y", ["observedAt": .minutesAgo(24 * 60)]).problem == "activity-expired")
            #expect(try await put("y", ["observedAt": .minutesAgo(0)]).status == 201)
        }
    }

    @Test(arguments: [1_795_702_129, 0], [true, false])
    func `An APNs timestamp in seconds is a fault of its report`(_ timestamp: Int64, _ isLines: Bool) async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await server.register("a", token: 1)
            let report: JSONValue = [
                "token": .token(1), "status": 410, "reason": "Unregistered", "timestamp": .integer(timestamp),
            ]
            let body = isLines ? report.jsonBytes : (["reports": [report]] as JSONValue).jsonBytes
            let fields: HTTPFields = [.contentType: isLines ? "application/x-ndjson" : "application/json"]
            let reply = try await server.send(.post, "…/feedback", body, fields)
            let problem = isLines ? reply.lines.first?["problem"] : reply["results"][0]["problem"]
            #expect(problem?["code"] == "invalid-request", "\(reply.json)")
            #expect(problem?["errors"]?[0]["detail"]?.string?.contains("milliseconds") == true)
        }
    }

    @Test func `An activity on a broadcast channel is shown as reached by it`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let channel: JSONValue = ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 0]
            let put = try await server.call(.put, "…/aliases/orderId/o/channel", channel)
            #expect(put.status == 201 || put.status == 200, "\(put.json)")
            let item: JSONValue = ["activityId": "a", "aliases": ["orderId": "o"]]
            let state: JSONValue = ["observedAt": .minutesAgo(2), "activities": [item]]
            #expect(try await server.call(.put, "…/installations/i-1/activities", state).status == 200)
            let explanation = try await server.call(.get, "…/audit/explain?kind=orderId&value=o")
            #expect(explanation["activities"][0]["reason"] == "channel", "\(explanation.json)")
        }
    }

    // MARK: Tokens, names and bodies

    @Test(arguments: [
        "<00112233 44556677>", "{length = 32, bytes = 0x00112233 44556677}", "ABEiM0RVZneImaq7zN3u/w==",
        "fGx8Zk1:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", "ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "0x00112233",
        "nil",
    ])
    func `A token that is not hex is refused`(_ token: String) async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let reply = try await server.call(.put, "…/activities/a", ["token": .string(token)])
            #expect(reply.problem == "invalid-request /token")
            #expect(!String(decoding: reply.bytes, as: UTF8.self).contains(token))
        }
    }

    @Test(arguments: ["a/b", "🍕", "100%", "a+b c", "ünï", "x?y#z", "%2F"])
    func `An alias with special characters is found`(_ alias: String) async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await server.register("a", token: 1, alias: alias)
            let path = "…/aliases/liveactivityId/\(ConsoleLink.encoded(alias))/activities"
            #expect(try await server.call(.get, path)["activities"].all("activityId") == ["a"])
        }
    }

    @Test func `A long token, a DELETE with a JSON type and another spelling of a charset are accepted`() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let body: JSONValue = ["token": .string(String(repeating: "ab", count: 160))]
            for type in ["application/json;charset=utf8", "application/json; charset=UTF-8"] {
                let fields: HTTPFields = [.contentType: type]
                #expect(try await server.call(.put, "…/activities/a", body, fields).status / 100 == 2)
            }
            let reply = try await server.call(
                .put,
                "…/activities/a",
                body,
                [.contentType: "application/json;charset=latin1"]
            )
            #expect(reply.problem == "unsupported-media-type")
            let fields: HTTPFields = [.contentType: "application/json"]
            #expect(try await server.call(.delete, "…/activities/a", nil, fields).status == 204)
        }
    }

    // MARK: Browsers

    @Test(arguments: [
        ("/", "/docs"), ("/docs/", "/docs"), ("/docs/reference/plans/", "/docs/reference/plans"),
        ("/console/", "/console"),
        ("/console/com.example.food/sandbox/", "/console/com.example.food/sandbox"),
        ("/console/a%0d%0ab/%2F/", "/console/a%0D%0Ab/%2F"),
    ])
    func `A page path with a final slash redirects`(_ path: String, _ target: String) async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for method in [HTTPRequest.Method.get, .head] {
                let reply = try await server.call(method, path)
                #expect(reply.status == 303)
                #expect(reply.fields[.location] == target)
            }
            #expect(try await server.call(.post, path).status >= 400)
            for other in ["/v1/apps/", "/livez/", "/none/"] {
                #expect(try await server.call(.get, other).status == 404)
            }
        }
    }
}
