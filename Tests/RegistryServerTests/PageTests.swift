import HTTPTypes
import RegistryCore
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct PageTests {
    struct List: CustomTestStringConvertible {
        let path: String
        let items: String
        let other: String
        var testDescription: String { path }
    }

    private static func ofAlias(_ items: String, _ list: String, other: String) -> List {
        List(path: "…/aliases/topic/t/\(list)?", items: items, other: "…/aliases/topic/\(other)?")
    }

    private static let lists = [
        ofAlias("activities", "activities", other: "u/activities"),
        ofAlias("tokens", "start-tokens", other: "t/device-tokens"),
        ofAlias("tokens", "start-tokens", other: "u/start-tokens"),
        ofAlias("tokens", "device-tokens", other: "t/tokens/widget"),
        ofAlias("tokens", "tokens/widget", other: "u/tokens/widget"),
        List(path: "…/audit/events?", items: "events", other: "…/audit/events?type=registered&"),
        List(
            path: "…/audit/explain?kind=topic&value=t&",
            items: "activities",
            other: "…/audit/explain?kind=topic&value=u&"
        ),
    ]

    private static let plan: JSONObject = [
        "alias": ["kind": "topic", "value": "t"], "to": [["kind": "topic", "value": "t"]], "attributesType": "Match",
    ]

    private static func run(_ test: @Sendable (LiveServer) async throws -> Void) async throws {
        try await LiveServer.run { server in
            func put(_ path: String, _ body: JSONObject) async throws {
                #expect(try await server.call(.put, path, .object(body)).status == 201)
            }
            for number in 1...5 {
                let phone = "…/installations/p-\(number)"
                try await put("…/activities/a-\(number)", ["token": .token(number), "aliases": ["topic": "t"]])
                try await put(phone, ["aliases": ["topic": "t"]])
                try await put(phone + "/start-tokens/Match", ["token": .token(number + 10)])
                try await put(phone + "/device-token", ["token": .token(number + 20)])
                try await put(phone + "/tokens/widget", ["token": .token(number + 30)])
            }
            try await test(server)
        }
    }

    @Test(arguments: lists) func `Pages contain each item once, and a cursor is valid only for its list`(_ list: List)
        async throws
    {
        try await Self.run { server in
            let whole = try await server.call(.get, list.path + "limit=100")[list.items].elements
            var (items, sizes): ([JSONValue], [Int]) = ([], [])
            var query = "limit=2"
            while true {
                let page = try await server.call(.get, list.path + query)
                items += page[list.items].elements
                sizes.append(page[list.items].elements.count)
                guard let cursor = page["nextCursor"].string else { break }
                query = "limit=2&cursor=\(cursor)"
                let foreign = try await server.call(.get, list.other + "cursor=\(cursor)")
                #expect(foreign.problem == "invalid-cursor /cursor")
            }
            #expect(items == whole)
            #expect(whole.count >= 5)
            #expect(sizes.allSatisfy { $0 <= 2 })
        }
    }

    @Test func `Pages of a plan contain each token once, and a cursor is valid only for its plan`() async throws {
        try await Self.run { server in
            var (tokens, body): ([JSONValue], JSONObject) = ([], Self.plan)
            body["limit"] = 2
            while true {
                let page = try await server.call(.post, "…/plan", .object(body))
                tokens += page["installations"].all("token")
                guard let cursor = page["nextCursor"].string else { break }
                body["cursor"] = .string(cursor)
                var other = body
                other["to"] = []
                #expect(try await server.call(.post, "…/plan", .object(other)).problem == "invalid-cursor /cursor")
            }
            #expect(tokens.count == 10)
            let expected = Array(1...5) + Array(11...15)
            #expect(Set(tokens) == Set(expected.map { JSONValue.token($0) }))
        }
    }
}

extension JSONValue {
    fileprivate var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }
}
