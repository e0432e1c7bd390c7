import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct ActivityCallTests {
    @Test("A token is registered, rotated and refreshed") func registersRotatesAndRefreshes() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let first = try await server.call(
                .put,
                "…/activities/a-1",
                ["token": .token(1), "observedAt": .minutesAgo(3), "installationId": "i-1"]
            )
            #expect(first.status == 201 && first["outcome"] == "registered" && first["activityId"] == "a-1")
            #expect(first["state"] == "active" && first["revision"] == 1)
            #expect(first["confirmedAt"] != .null && first["expiresAt"] != .null)
            #expect(first["token"] == .null)
            #expect(first.fields[.cacheControl] == "no-store")
            let second = try await server.call(
                .put,
                "…/activities/a-1",
                ["token": .token(2), "observedAt": .minutesAgo(2)]
            )
            #expect(second.status == 200 && second["outcome"] == "rotated")
            let third = try await server.call(.put, "…/activities/a-1", ["token": .token(2)])
            #expect(third.status == 200 && third["outcome"] == "refreshed")
        }
    }

    @Test("A sender is told all about an activity in one lookup") func tellsASenderAllInOneLookUp() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let body: JSONValue = [
                "token": .token(1), "observedAt": "2026-01-01T00:00:00Z", "installationId": "i-1",
                "attributesType": "Freight", "frequentPushesEnabled": true,
            ]
            #expect(try await server.call(.put, "…/activities/truck%2F7", body).problem == "activity-expired")
            let current: JSONValue = [
                "token": .token(1), "observedAt": .minutesAgo(1), "startedAt": .minutesAgo(2), "installationId": "i-1",
                "attributesType": "Freight", "frequentPushesEnabled": true,
            ]
            #expect(try await server.call(.put, "…/activities/truck%2F8", current).status == 201)
            let reply = try await server.call(.get, "…/activities/truck%2F8")
            let installation = try InstallationHash(of: InstallationID("i-1"), in: BundleID("com.example.food"))
            #expect(reply.status == 200 && reply["activityId"] == "truck/8" && reply["state"] == "active")
            #expect(reply["token"] == .token(1) && reply["environment"] == "sandbox")
            #expect(reply["topic"] == "com.example.food.push-type.liveactivity" && reply["pushType"] == "liveactivity")
            #expect(reply["installation"] == .string(installation.description))
            #expect(reply["attributesType"] == "Freight" && reply["frequentPushesEnabled"] == true)
            #expect(reply["startedAt"] == current["startedAt"] && reply["observedAt"] == current["observedAt"])
            #expect(reply.fields[.cacheControl] == "no-store")
            #expect(try await server.call(.get, "…/activities/none").problem == "activity-not-found")
        }
    }

    /// R5: what is scheduled is told to whoever resolves it, and lives from then.
    @Test("A sender is told when an activity starts") func tellsWhenAnActivityStarts() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let starts = JSONValue.minutesAgo(-600)
            let body: JSONValue = [
                "token": .token(1), "observedAt": .minutesAgo(1), "startsAt": starts, "aliases": ["orderId": "7"],
            ]
            let reply = try await server.call(.put, "…/activities/a-1", body)
            #expect(reply.status == 201)
            let expiresAt = try JSONReader.timestamp(reply["expiresAt"])
            #expect(try expiresAt.timeIntervalSince(JSONReader.timestamp(starts)) == 8 * 3600)
            let record = try await server.call(.get, "…/activities/a-1")
            #expect(record["startsAt"] == starts)
            let resolved = try await server.call(.get, "…/aliases/orderId/7/activities")
            #expect(resolved["activities"].all("startsAt") == [starts])
            let many = try await server.call(.post, "…/resolve", ["aliases": [["kind": "orderId", "value": "7"]]])
            #expect(many["results"][0]["activities"]?.all("startsAt") == [starts])
            let explained = try await server.call(.get, "…/audit/explain?kind=orderId&value=7")
            #expect(explained["activities"].all("startsAt") == [starts])
        }
    }

    /// A full state's item that says too much counts as present all the same.
    @Test("An activity starts at most thirty days ahead") func startsAtMostThirtyDaysAhead() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let (near, far) = (JSONValue.minutesAgo(-30 * 1440 + 1), JSONValue.minutesAgo(-30 * 1440 - 1))
            let named: JSONValue = ["token": .token(1), "alias": "n", "startsAt": far]
            #expect(try await server.call(.post, "…/activities", named).problem == "invalid-request /startsAt")
            #expect(try await server.call(.put, "…/activities/a-1", named).problem == "invalid-request /startsAt")
            let first: JSONValue = [
                "token": .token(1), "startsAt": near, "installationId": "i", "observedAt": .minutesAgo(2),
            ]
            #expect(try await server.call(.put, "…/activities/a-1", first).status == 201)
            let item: JSONValue = ["activityId": "a-1", "token": .token(1), "startsAt": far]
            let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": [item]]
            let reply = try await server.call(.put, "…/installations/i/activities", state)
            #expect(reply["results"][0]["problem"]?["errors"]?.all("pointer") == ["/activities/0/startsAt"])
            #expect(reply["ended"] == [])
            #expect(try await server.call(.get, "…/activities/a-1")["state"] == "active")
        }
    }

    @Test("An activity ends for good") func endsForGood() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            try await server.register("a-1", token: 1)
            let path = "…/activities/a-1?reason=dismissed&observedAt=2026-11-01T00:00:00%2B00:00"
            for _ in 1...2 {
                let ended = try await server.call(.delete, path)
                #expect(ended.status == 204 && ended.bytes.isEmpty)
            }
            let late = try await server.register("a-1", token: 2)
            #expect(late.status == 410 && late.problem == "activity-ended")
            #expect(late["activityId"] == "a-1" && late["state"] == "ended" && late["endedAt"] != .null)
            #expect(late["serverTime"] != .null)
            let record = try await server.call(.get, "…/activities/a-1")
            #expect(record.status == 200 && record["state"] == "ended" && record["token"] == .null)
            #expect(try await server.call(.delete, "…/activities/never-seen").status == 204)
        }
    }

    @Test("Older observations are superseded") func olderObservationsAreSuperseded() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let new: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(1)]
            let old: JSONValue = ["token": .token(2), "observedAt": .minutesAgo(2)]
            #expect(try await server.call(.put, "…/activities/a-1", new).status == 201)
            let reply = try await server.call(.put, "…/activities/a-1", old)
            #expect(reply.status == 409 && reply.problem == "superseded")
            #expect(reply["observedAt"] == new["observedAt"] && reply["activityId"] == "a-1")
            let skewed = try await server.call(
                .put,
                "…/activities/a-1",
                ["token": .token(3), "observedAt": .minutesAgo(-10)]
            )
            #expect(skewed.status == 422 && skewed["code"] == "clock-skew" && skewed["serverTime"] != .null)
        }
    }

    @Test("An activity may be known only by an alias") func knownOnlyByAnAlias() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let phones = try await [1, 2].asyncMap { number in
                let body: JSONValue = [
                    "token": .token(number), "alias": "match-7", "installationId": .string("i-\(number)"),
                ]
                return try await server.call(.post, "…/activities", body)
            }
            #expect(phones.map(\.status) == [201, 201] && phones[0]["activityId"] != phones[1]["activityId"])
            let again = try await server.call(
                .post,
                "…/activities",
                ["token": .token(3), "alias": "match-7"],
                [.installationID: "i-1"]
            )
            #expect(again.status == 200 && again["outcome"] == "rotated")
            #expect(again["activityId"] == phones[0]["activityId"])
            let found = try await server.call(.get, "…/aliases/liveactivityId/match-7/activities")
            #expect(Set(found["activities"].all("token")) == [.token(3), .token(2)])
            let ended = try await server.call(.delete, "…/activities?alias=match-7", nil, [.installationID: "i-1"])
            #expect(ended.status == 204)
            let left = try await server.call(.get, "…/aliases/liveactivityId/match-7/activities")
            #expect(left["activities"].all("token") == [.token(2)])
        }
    }

    @Test("Without an installation the app owns it") func withoutAnInstallationTheAppOwnsIt() async throws {
        try await LiveServer.run { (server: LiveServer) async throws in
            let one = try await server.call(.post, "…/activities", ["token": .token(1), "alias": "o-1"])
            let two = try await server.call(.post, "…/activities", ["token": .token(2), "alias": "o-1"])
            #expect(one.status == 201 && two.status == 200 && one["activityId"] == two["activityId"])
            #expect(try await server.call(.delete, "…/activities?alias=o-1").status == 204)
            #expect(try await server.call(.delete, "…/activities?alias=never").status == 204)
        }
    }
}

extension Array where Element: Sendable {
    /// Maps one after another.
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
