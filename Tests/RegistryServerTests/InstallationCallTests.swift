import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct InstallationCallTests {
    private static let phone = "…/installations/i-1"
    private static let start = phone + "/start-tokens/Delivery"
    private static let device = phone + "/device-token"

    @Test("A start token is registered, listed and deleted") func aLifeOfAStartToken() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let first = try await server.call(.put, Self.start, ["token": .token(1), "observedAt": .minutesAgo(9)])
            #expect(first.status == 201 && first["outcome"] == "registered" && first["attributesType"] == "Delivery")
            #expect(first.json["token"] == nil && first["kind"] == "start")
            let profile: JSONValue = ["aliases": ["userId": "u-7"], "observedAt": .minutesAgo(8)]
            #expect(try await server.call(.put, Self.phone, profile).status == 200)
            let second = try await server.call(.put, Self.start, ["token": .token(2), "observedAt": .minutesAgo(7)])
            #expect(second.status == 200 && second["outcome"] == "rotated")
            let late = try await server.call(.put, Self.start, ["token": .token(1), "observedAt": .minutesAgo(8)])
            #expect(late.problem == "superseded" && late["reason"] == "rotated" && late["serverTime"] != .null)
            let listing = try await server.call(.get, "…/aliases/userId/u-7/start-tokens?attributesType=Delivery")
            #expect(listing["tokens"].all("token") == [.token(2)] && listing.fields[.cacheControl] == "no-store")
            #expect(listing["tokens"][0]["topic"] == "com.example.food.push-type.liveactivity")
            #expect(listing["tokens"][0]["pushType"] == "liveactivity" && listing["tokens"][0]["installation"] != nil)
            let others = try await server.call(.get, "…/aliases/userId/u-7/start-tokens?attributesType=Match")
            #expect(others.status == 200 && others["tokens"] == [])
            let time = RFC3339.format(.minutesAgo(6))
            #expect(try await server.call(.delete, Self.start + "?observedAt=\(time)").status == 204)
            #expect(try await server.call(.get, "…/aliases/userId/u-7/start-tokens")["tokens"] == [])
            let deleted = try await server.call(.put, Self.start, ["token": .token(2), "observedAt": .minutesAgo(7)])
            #expect(deleted.problem == "superseded" && deleted["reason"] == "deleted")
            #expect(deleted["observedAt"] == .string(time))
            #expect(try await server.call(.put, Self.start, ["token": .token(2)])["outcome"] == "reactivated")
        }
    }

    @Test("Device tokens are no activity tokens") func deviceTokensAreNoActivityTokens() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await server.register("a-1", token: 1)
            #expect(try await server.call(.put, Self.device, ["token": .token(1)]).status == 201)
            let listing = try await server.call(.get, "…/aliases/liveactivityId/order-42/activities")
            #expect(listing["activities"] == [])
            let known = try await server.call(.put, "…/activities/a-1", ["token": .token(1)])
            #expect(known.problem == "token-kind-conflict" && known["activityId"] == "a-1")
            #expect(try await server.call(.get, "…/activities/a-1")["reason"] == "kind-conflict")
            let unknown = try await server.call(.put, "…/activities/a-2", ["token": .token(1)])
            #expect(unknown.problem == "token-kind-conflict")
            let start = try await server.call(.put, Self.start, ["token": .token(1)])
            #expect(start.problem == "token-kind-conflict" && start["kind"] == "start")
            _ = try await server.call(.put, Self.phone, ["aliases": ["userId": "u-7"]])
            let devices = try await server.call(.get, "…/aliases/userId/u-7/device-tokens")
            #expect(devices["tokens"].all("token") == [.token(1)])
            #expect(devices["topic"] == "com.example.food" && devices["tokens"][0]["pushType"] == "alert")
        }
    }

    @Test("The device token has two paths, and a widget's token is listed for widget pushes") func tokensByKind()
        async throws
    {
        try await LiveServer.run { (server: LiveServer) async throws in
            _ = try await server.call(.put, Self.phone, ["aliases": ["userId": "u-7"]])
            #expect(try await server.call(.put, Self.device, ["token": .token(1)]).status == 201)
            let again = try await server.call(.put, Self.phone + "/tokens/device", ["token": .token(1)])
            #expect(again["outcome"] == "refreshed")
            #expect(try await server.call(.put, Self.phone + "/tokens/widget", ["token": .token(2)]).status == 201)
            let listing = try await server.call(.get, "…/aliases/userId/u-7/tokens/widget?limit=1")
            #expect(listing["tokens"].all("token") == [.token(2)])
            #expect(listing["topic"] == "com.example.food.push-type.widgets")
            #expect(listing["tokens"][0]["pushType"] == "widgets")
            #expect(try await server.call(.delete, Self.phone + "/tokens/device").status == 204)
            #expect(try await server.call(.get, "…/aliases/userId/u-7/device-tokens")["tokens"] == [])
            let unknown = try await server.call(.put, Self.phone + "/tokens/update", ["token": .token(3)])
            #expect(unknown.problem == "invalid-request /tokenKind")
            #expect(unknown["errors"][0]["detail"] == "(in the path) must be one of device, widget")
        }
    }

    @Test("Pages hold each token once and cursors are their own") func pagesHoldEachTokenOnceAndCursorsAreTheirOwn()
        async throws
    {
        try await LiveServer.run { (server: LiveServer) async throws in
            for number in 1...5 {
                let phone = "…/installations/p-\(number)"
                _ = try await server.call(.put, phone, ["aliases": ["topic": "t"]])
                _ = try await server.call(.put, phone + "/device-token", ["token": .token(number)])
                _ = try await server.call(.put, phone + "/start-tokens/%C3%84%2F%20", ["token": .token(number + 10)])
            }
            for (list, offset) in [("device-tokens", 0), ("start-tokens", 10)] {
                var (tokens, sizes): ([JSONValue], [Int]) = ([], [])
                var query = "?limit=2"
                while true {
                    let page = try await server.call(.get, "…/aliases/topic/t/\(list)\(query)")
                    tokens += page["tokens"].all("token")
                    sizes.append(page["tokens"].all("token").count)
                    guard case .string(let cursor) = page["nextCursor"] else { break }
                    query = "?limit=2&cursor=\(cursor)"
                    let other = list == "start-tokens" ? "device-tokens" : "start-tokens"
                    let foreign = try await server.call(.get, "…/aliases/topic/t/\(other)?cursor=\(cursor)")
                    #expect(foreign.problem == "invalid-cursor /cursor")
                    let elsewhere = try await server.call(.get, "…/aliases/topic/u/\(list)?cursor=\(cursor)")
                    #expect(elsewhere.problem == "invalid-cursor /cursor")
                }
                #expect(Set(tokens) == Set((1...5).map { .token($0 + offset) }) && sizes == [2, 2, 1])
            }
        }
    }

    @Test("Log-out leaves nothing") func logOutLeavesNothing() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let body: JSONValue = ["aliases": ["userId": "u-7"], "metadata": ["build": 7], "installationId": "i-1"]
            #expect(try await server.call(.put, Self.phone, body).status == 201)
            _ = try await server.call(.put, Self.start, ["token": .token(1)])
            _ = try await server.call(.put, Self.device, ["token": .token(2)])
            let activity: JSONValue = ["token": .token(3), "installationId": "i-1", "aliases": ["userId": "u-7"]]
            _ = try await server.call(.put, "…/activities/a-1", activity)
            let record = try await server.call(.get, Self.phone)
            #expect(record["aliases"] == ["userId": ["u-7"]])
            #expect(record["tokens"].all("kind") == ["device", "start"] && record["metadata"] == ["build": 7])
            #expect(!String(decoding: record.bytes, as: UTF8.self).contains("abab"), "no token is shown")
            for _ in 0..<2 { #expect(try await server.call(.delete, Self.phone).status == 204) }
            for list in ["start-tokens", "device-tokens", "activities"] {
                let reply = try await server.call(.get, "…/aliases/userId/u-7/\(list)")
                #expect(reply["tokens"].all("token") + reply["activities"].all("token") == [])
            }
            #expect(try await server.call(.get, "…/activities/a-1")["state"] == "ended")
            #expect(try await server.call(.get, Self.phone)["tokens"] == [])
            #expect(try await server.call(.put, Self.start, ["token": .token(1)]).status == 200)
        }
    }

    @Test("An admin releases a token") func releases() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            for path in [Self.start, Self.device] {
                #expect(try await server.call(.post, path + "/release").problem == "token-not-found")
                _ = try await server.call(.put, path, ["token": .token(path.count)])
                #expect(try await server.call(.post, path + "/release").status == 204)
            }
        }
    }

    @Test("Every fault of an installation's call is named at once") func everyFaultAtOnce() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let long = String(repeating: "x", count: 129)
            let token = try await server.call(
                .put,
                "…/installations/i-1/start-tokens/\(long)",
                ["token": "0", "observedAt": 1, "installationId": "i-2"],
                [.installationID: "i-3"]
            )
            #expect(
                token.problem
                    == "invalid-request /installationId /installationId /attributesType /token /observedAt"
            )
            let profile = try await server.call(
                .put,
                Self.phone,
                ["aliases": ["1": "x"], "metadata": [], "observedAt": ""]
            )
            #expect(profile.problem == "invalid-request /aliases/1 /metadata /observedAt")
            #expect(
                try await server.call(.delete, "…/installations/..?observedAt=x").problem
                    == "invalid-request /installationId /observedAt"
            )
            #expect(
                try await server.call(.get, "…/aliases/1/./start-tokens?limit=0&attributesType=..").problem
                    == "invalid-request /kind /value /limit /attributesType"
            )
            for path in [Self.start, Self.device, Self.phone] {
                let skewed = try await server.call(.put, path, ["token": .token(1), "observedAt": .minutesAgo(-6)])
                #expect(skewed.problem == "clock-skew /observedAt" && skewed["serverTime"] != .null)
                let late = try await server.call(.delete, path + "?observedAt=2999-01-01T00:00:00Z")
                #expect(late.problem == "clock-skew /observedAt")
            }
            #expect(try await server.call(.get, Self.phone).problem == "installation-not-found")
        }
    }

    @Test("A channel is shown with the activities") func aChannelIsShownWithTheActivities() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let path = "…/aliases/liveactivityId/order-42/channel"
            let channel: JSONValue = ["channelId": "dHN0LXNyY2gtY2hubA==", "messageStoragePolicy": 1]
            #expect(try await server.call(.get, path).problem == "channel-not-found")
            let first = try await server.call(.put, path, channel)
            #expect(first.status == 201 && first["channelId"] == "dHN0LXNyY2gtY2hubA==")
            #expect(first["alias"] == ["kind": "liveactivityId", "value": "order-42"])
            #expect(try await server.call(.put, path, channel).status == 200)
            try await server.register("a-1", token: 1)
            let listing = "…/aliases/liveactivityId/order-42/activities"
            #expect(try await server.call(.get, listing)["channels"] == [channel])
            let lines = try await server.call(.get, listing, nil, [.accept: "application/x-ndjson"]).lines
            #expect(lines.first?["channels"] == [channel])
            let body: JSONValue = ["aliases": [["kind": "liveactivityId", "value": "order-42"]]]
            #expect(try await server.call(.post, "…/resolve", body)["results"][0]["channels"] == [channel])
            #expect(try await server.call(.delete, path).status == 204)
            #expect(try await server.call(.delete, path).status == 204)
            #expect(try await server.call(.get, listing)["channels"] == [])
        }
    }

    @Test(
        "Channels at their limits are taken, and beyond refused",
        arguments: ["", "no base64", "dHN0", "AAAA=", "QUJD\u{0}"],
        [JSONValue.integer(2), "1", .null, 0.5]
    )
    func channelsAtTheirLimits(_ id: String, _ policy: JSONValue) async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let body: JSONValue = ["channelId": .string(id), "messageStoragePolicy": policy]
            let reply = try await server.call(.put, "…/aliases/matchId/7/channel", body)
            let faults = (id == "dHN0" ? [] : ["/channelId"]) + ["/messageStoragePolicy"]
            #expect(reply.problem == (["invalid-request"] + faults).joined(separator: " "))
        }
    }
}
