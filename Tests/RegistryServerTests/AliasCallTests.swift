import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AliasCallTests {
    private static let path = "…/aliases/liveactivityId/order-42/activities"

    @Test("Pages hold each activity once") func pagesHoldEachActivityOnce() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...7 { try await server.register("a-\(number)", token: number) }
            var (ids, sizes): ([JSONValue], [Int]) = ([], [])
            var path = Self.path + "?limit=3"
            while true {
                let page = try await server.call(.get, path)
                #expect(page.status == 200 && page["alias"] == ["kind": "liveactivityId", "value": "order-42"])
                #expect(page["topic"] == "com.example.food.push-type.liveactivity" && page["channels"] == [])
                ids += page["activities"].all("activityId")
                sizes.append(page["activities"].all("activityId").count)
                guard case .string(let cursor) = page["nextCursor"] else { break }
                path = Self.path + "?limit=3&cursor=\(cursor)"
            }
            #expect(ids == (1...7).map { .string("a-\($0)") } && sizes == [3, 3, 1])
            let all = try await server.call(.get, Self.path + "?limit=7")
            #expect(all.json["nextCursor"] == nil && all["activities"].all("token") == (1...7).map { .token($0) })
            #expect(all.fields[.cacheControl] == "no-store")
        }
    }

    @Test("An alias that names nothing has no activities, and is no error") func anAliasThatNamesNothing() async throws
    {
        try await LiveServer.run { (server: LiveServer) async throws in
            let reply = try await server.call(.get, "…/aliases/userId/nobody%2F%2B/activities")
            #expect(reply.status == 200 && reply["activities"] == [] && reply["channels"] == [])
            #expect(reply["alias"] == ["kind": "userId", "value": "nobody/+"])
            let stream = try await server.call(.get, "…/aliases/userId/nobody/activities", nil, .lines)
            #expect(stream.lines.count == 2 && stream.lines.last == ["end": true, "count": 0])
        }
    }

    @Test("A foreign cursor is refused") func aForeignCursorIsRefused() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...3 { try await server.register("a-\(number)", token: number) }
            guard case .string(let cursor) = try await server.call(.get, Self.path + "?limit=1")["nextCursor"] else {
                Issue.record("There is a next page.")
                return
            }
            let other = "…/aliases/liveactivityId/order-43/activities?cursor=\(cursor)"
            #expect(try await server.call(.get, other).problem == "invalid-cursor /cursor")
            #expect(try await server.call(.get, Self.path + "?cursor=x").problem == "invalid-cursor /cursor")
            #expect(try await server.call(.get, Self.path + "?cursor=").problem == "invalid-cursor /cursor")
            let both = try await server.call(.get, Self.path + "?cursor=x&limit=0")
            #expect(both.problem == "invalid-request /limit /cursor")
        }
    }

    @Test("A stream holds all activities of an alias") func streamsThemAll() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            // More than one page.
            let (installations, size) = (3, ActivityStream.firstPageSize / 3 + 1)
            for number in 0..<installations {
                let items = (0..<size).map { JSONValue.item($0, of: number) }
                let body: JSONValue = ["observedAt": .minutesAgo(1), "activities": .array(items)]
                let reply = try await server.call(.put, "…/installations/i-\(number)/activities", body)
                #expect(reply.status == 200)
            }
            let stream = try await server.call(.get, Self.path, nil, .lines)
            #expect(stream.status == 200 && stream.fields[.contentType] == "application/x-ndjson")
            #expect(stream.fields[.contentLength] == nil && stream.fields[.cacheControl] == "no-store")
            let lines = stream.lines
            #expect(lines.first?["topic"] == "com.example.food.push-type.liveactivity")
            #expect(lines.first?["channels"] == [] && lines.first?["alias"]?["value"] == "order-42")
            #expect(lines.last == ["end": true, "count": .integer(Int64(installations * size))])
            #expect(Set(lines.dropFirst().dropLast().compactMap { $0["token"] }).count == installations * size)
        }
    }

    @Test("One call ends all activities under an alias") func endsAllUnderAnAlias() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...3 { try await server.register("a-\(number)", token: number) }
            try await server.register("b-1", token: 9, alias: "order-43")
            let ended = try await server.call(.delete, Self.path)
            #expect(ended.status == 200 && ended.json == ["ended": 3])
            #expect(try await server.call(.delete, Self.path).json == ["ended": 0])
            #expect(try await server.call(.get, "…/activities/b-1")["state"] == "active")
        }
    }

    @Test("Many aliases are resolved in the order asked") func resolvesInTheOrderAsked() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...3 { try await server.register("a-\(number)", token: number) }
            let body: JSONValue = [
                "limitPerAlias": 2,
                "aliases": [
                    ["kind": "userId", "value": "nobody"], ["kind": "1", "value": "x"], 7,
                    ["kind": "liveactivityId", "value": "order-42"], ["kind": "userId", "value": "nobody"],
                ],
            ]
            let reply = try await server.call(.post, "…/resolve", body)
            let results = reply["results"]
            #expect(reply.status == 200 && reply.fields[.cacheControl] == "no-store")
            #expect(results[0]["activities"] == [] && results[0]["truncated"] == false && results[0]["channels"] == [])
            #expect(results[1]["problem"]?["code"] == "invalid-request" && results[1]["problem"]?["status"] == 422)
            #expect(results[1]["problem"]?["errors"]?[0]["pointer"] == "/aliases/1/kind")
            #expect(results[2]["problem"]?["errors"]?[0]["pointer"] == "/aliases/2")
            #expect(results[3]["activities"]?.all("token") == [.token(1), .token(2)])
            #expect(results[3]["truncated"] == true && results[4]["alias"]?["value"] == "nobody")
            #expect(results[5] == .null)
            #expect(try await server.call(.post, "…/resolve", ["aliases": []]).json == ["results": []])
        }
    }
}

extension HTTPFields {
    fileprivate static var lines: HTTPFields { [.accept: "application/x-ndjson"] }
}

extension JSONValue {
    fileprivate static func item(_ number: Int, of installation: Int) -> JSONValue {
        [
            "activityId": .string("a-\(installation)-\(number)"), "token": .token(installation * 1000 + number),
            "aliases": ["liveactivityId": "order-42"],
        ]
    }
}
