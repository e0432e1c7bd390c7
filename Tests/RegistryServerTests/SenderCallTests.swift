import HTTPTypes
import RegistryCore
import TestSupport
import Testing

/// Calls of senders about many records: lists, resolutions, plans and feedback.
@Suite(.service, .timeLimit(.minutes(15))) struct SenderCallTests {
    private static let topic: JSONValue = ["kind": "topic", "value": "t"]

    private static func plan(_ alias: JSONValue, to recipients: JSONValue = .null) -> JSONObject {
        ["alias": alias, "to": recipients, "attributesType": "Match"]
    }

    /// Registers an activity with the alias `topic:t`, and a phone with the alias and a token of each kind.
    private static func register(_ number: Int, osVersion: String, on installation: JSONValue) async throws {
        func put(_ path: String, _ body: JSONValue) async throws {
            #expect(try await server.call(.put, path, body).status == 201)
        }
        let (phone, aliases): (String, JSONValue) = ("…/installations/p-\(number)", ["topic": "t"])
        try await put(phone, ["aliases": aliases, "metadata": ["osVersion": .string(osVersion), "locale": "de_DE"]])
        for (slot, path) in ["/start-tokens/Match", "/device-token", "/tokens/widget"].enumerated() {
            try await put(phone + path, ["token": .token(number + 10 * (slot + 1))])
        }
        let activity: JSONValue = [
            "token": .token(number), "installationId": installation, "aliases": aliases,
            "metadata": ["seat": .integer(Int64(number))],
        ]
        try await put("…/activities/a-\(number)", activity)
    }

    private static func ofAlias(_ items: String, _ list: String, other: String) -> (String, String, String) {
        ("…/aliases/topic/t/\(list)?", items, "…/aliases/topic/\(other)?")
    }

    private static let lists: [(path: String, items: String, other: String)] = [
        ofAlias("activities", "activities", other: "u/activities"),
        ofAlias("tokens", "start-tokens", other: "t/device-tokens"),
        ofAlias("tokens", "start-tokens", other: "u/start-tokens"),
        ofAlias("tokens", "device-tokens", other: "t/tokens/widget"),
        ofAlias("tokens", "tokens/widget", other: "u/tokens/widget"),
        ("…/audit/events?", "events", "…/audit/events?type=registered&"),
        ("…/audit/explain?kind=topic&value=t&", "activities", "…/audit/explain?kind=topic&value=u&"),
    ]

    @Test func `Pages contain each item once, and a cursor is valid only for its list`() async throws {
        for number in 1...5 { try await Self.register(number, osVersion: "18.1", on: .null) }
        for list in Self.lists {
            let whole = try await server.call(.get, list.path + "limit=100")[list.items].elements
            var (items, query): ([JSONValue], String?) = ([], "limit=2")
            while let page = query {
                let page = try await server.call(.get, list.path + page)
                #expect(page[list.items].elements.count <= 2)
                items += page[list.items].elements
                query = page["nextCursor"].string.map { "limit=2&cursor=\($0)" }
                guard let cursor = page["nextCursor"].string else { continue }
                let foreign = try await server.call(.get, list.other + "cursor=\(cursor)")
                #expect(foreign.problem == "invalid-cursor /cursor")
            }
            #expect(items == whole && whole.count >= 5, "\(list.path)")
        }
        var (tokens, body): ([JSONValue], JSONObject) = ([], Self.plan(Self.topic, to: [Self.topic]))
        body["limit"] = 2
        while true {
            let page = try await server.call(.post, "…/plan", .object(body))
            tokens += page["installations"].all("token")
            guard let cursor = page["nextCursor"].string else { break }
            body["cursor"] = .string(cursor)
            let other = body.overlaid(by: ["to": []])
            #expect(try await server.call(.post, "…/plan", .object(other)).problem == "invalid-cursor /cursor")
        }
        #expect(tokens.count == 10)
        #expect(Set(tokens) == Set((Array(1...5) + Array(11...15)).map { JSONValue.token($0) }))
    }

    @Test func `Lists, resolve and plan have metadata on request only`() async throws {
        try await Self.register(1, osVersion: "17.6", on: "p-1")
        try await Self.register(2, osVersion: "18.1", on: "p-2")
        let start = Self.plan(["kind": "topic", "value": "another"], to: [Self.topic])
        for query in ["", "?include=metadata"] {
            let activities = "…/aliases/topic/t/activities\(query)"
            var replies = [
                try await server.call(.get, activities, nil, [.accept: "application/x-ndjson"]),
                try await server.call(.get, activities),
                try await server.call(.post, "…/resolve\(query)", ["aliases": [Self.topic]]),
                try await server.call(.post, "…/plan\(query)", .object(start)),
                try await server.call(.post, "…/plan\(query)", .object(Self.plan(Self.topic))),
            ]
            for list in ["start-tokens", "device-tokens", "tokens/widget"] {
                replies.append(try await server.call(.get, "…/aliases/topic/t/\(list)\(query)"))
            }
            for text in replies.map(\.text) {
                for version in ["17.6", "18.1"] {
                    let metadata = #""installationMetadata":{"locale":"de_DE","osVersion":"\#(version)"}"#
                    #expect(text.contains(metadata) == !query.isEmpty, "\(text)")
                }
                let hasSeat = !query.isEmpty && text.contains("a-2")
                #expect(text.contains(#""metadata":{"seat":2}"#) == hasSeat, "\(text)")
            }
        }
    }

    @Test func `A lease may be returned twice, and a reported failure ends one`() async throws {
        try await Self.register(1, osVersion: "18.1", on: .null)
        func plan() async throws -> JSONValue {
            let body = Self.plan(["kind": "topic", "value": "another"], to: [Self.topic])
            return try await server.call(.post, "…/plan", .object(body))["installations"][0]
        }
        let first = try #require(try await plan()["leaseId"]?.string)
        for _ in 1...2 { #expect(try await server.call(.delete, "…/plan/leases/\(first.uppercased())").status == 204) }
        let second = try await plan()
        #expect(second["action"] == "start")
        #expect(second["attempt"] == 1)
        let reports = [second["leaseId"] ?? .null, "x", .null].map { lease -> JSONValue in
            ["token": .token(11), "status": 503, "leaseId": lease]
        }
        let results = try await server.call(.post, "…/feedback", ["reports": .array(reports)])["results"]
        #expect(results[0]["action"] == "kept" && results[2]["action"] == "kept")
        #expect(results[1]["problem"]?["errors"]?.all("pointer") == ["/reports/1/leaseId"])
        let wait = try await plan()
        #expect(wait["reason"] == "back-off")
        #expect(wait["leasedUntil"] == nil)
    }

    @Test func `A post of gorush without information about a token is ignored and counted`() async throws {
        try await server.register("a-1", token: 1)
        // Request bodies as gorush 1.18 writes them.
        let failed: JSONObject = [
            "notif_id": "", "type": "failed-push", "platform": "ios", "token": .token(1), "message": "Welcome",
            "error": "Unregistered",
        ]
        for (change, reason) in [
            (["platform": "android"], "platform"), (["type": "succeeded-push", "error": ""], "type"),
            (["token": "00000000**********abababab"], "masked-token"), (["error": ""], "no-error"),
        ] as [(JSONObject, String)] {
            let answer = try await server.call(.post, "…/feedback/gorush", .object(failed.overlaid(by: change)))
            #expect(answer.status == 200 && answer["action"] == "ignored")
            let series = "pushreg_gorush_posts_ignored_total{reason=\"\(reason)\"}"
            #expect(try await server.measurements()[series] == 1)
        }
        #expect(try await server.call(.get, "…/activities/a-1")["token"] != .null)
    }
}
