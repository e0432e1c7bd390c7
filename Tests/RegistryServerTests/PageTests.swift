import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct PageTests {
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

    private static let plan: JSONObject = [
        "alias": ["kind": "topic", "value": "t"], "to": [["kind": "topic", "value": "t"]], "attributesType": "Match",
    ]

    private static func prepare() async throws {
        func put(_ path: String, _ body: JSONObject) async throws {
            #expect(try await server.call(.put, path, .object(body)).status == 201)
        }
        for number in 1...5 {
            let phone = "…/installations/p-\(number)"
            try await put("…/activities/a-\(number)", ["token": .token(number), "aliases": ["topic": "t"]])
            try await put(phone, ["aliases": ["topic": "t"]])
            for (slot, path) in ["/start-tokens/Match", "/device-token", "/tokens/widget"].enumerated() {
                try await put(phone + path, ["token": .token(number + 10 * (slot + 1))])
            }
        }
    }

    @Test(.service) func `Pages contain each item once, and a cursor is valid only for its list`() async throws {
        try await Self.prepare()
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
        var (tokens, body): ([JSONValue], JSONObject) = ([], Self.plan)
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
}
