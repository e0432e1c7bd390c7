import Foundation
import HTTPTypes
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Callers' names are bytes: ids that `String` treats as equal are two ids everywhere.
@Suite(.service, .timeLimit(.minutes(15))) struct EqualBytesTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        let one: String
        let other: String
        var both: [String] { [one, other] }
        var testDescription: String { both.map { Hexadecimal.encode(Array($0.utf8)) }.joined(separator: " ") }

        static let all = [
            Pair(one: "\u{212A}-1", other: "K-1"), Pair(one: "caf\u{E9}", other: "cafe\u{301}"),
            Pair(one: "\u{212B}", other: "\u{C5}"),
        ]
    }

    private static func path(_ id: String) -> String { "…/activities/\(ConsoleLink.encoded(id))" }

    private static func register(_ pair: Pair, on server: LiveServer) async throws {
        for (index, id) in pair.both.enumerated() {
            let body: JSONValue = [
                "token": .token(index + 1), "observedAt": .minutesAgo(5), "aliases": ["liveactivityId": "both"],
            ]
            #expect(try await server.call(.put, path(id), body).status == 201)
        }
    }

    private static func resolve(_ value: String = "both", on server: LiveServer) async throws -> [JSONValue] {
        let alias = ConsoleLink.encoded(value)
        return try await server.call(.get, "…/aliases/liveactivityId/\(alias)/activities")["activities"].all("token")
    }

    @Test(arguments: Pair.all, [(410, "Unregistered", "dropped"), (400, "BadDeviceToken", "quarantined")])
    func `Both tokens of one batch are withdrawn`(_ pair: Pair, _ report: (Int, String, String)) async throws {
        try await Self.register(pair, on: server)
        #expect(try await Self.resolve(on: server).count == 2)
        let reports = [1, 2].map { number -> JSONValue in
            ["token": .token(number), "status": .integer(Int64(report.0)), "reason": .string(report.1)]
        }
        let answer = try await server.call(.post, "…/feedback", ["reports": .array(reports)])
        #expect(answer["results"].all("action") == [.string(report.2), .string(report.2)])
        #expect(try await Self.resolve(on: server) == [])
        for id in pair.both { #expect(try await server.call(.get, Self.path(id))["token"] == .null, "\(id)") }
    }

    @Test(arguments: Pair.all)
    func `Each concurrent request gets its own response`(_ pair: Pair) async throws {
        let ids = (0..<20).flatMap { number in pair.both.map { "\($0)\(number)" } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, id) in ids.enumerated() {
                group.addTask {
                    let answer = try await server.call(.put, Self.path(id), ["token": .token(index)])
                    #expect(answer.status == 201)
                    #expect(answer["activityId"] == .string(id))
                }
            }
            try await group.waitForAll()
        }
        for (index, id) in ids.enumerated() {
            let activity = try await server.call(.get, Self.path(id))
            #expect(activity["activityId"] == .string(id))
            #expect(activity["token"] == .token(index))
        }
    }

    @Test(arguments: Pair.all)
    func `An activity with a similar id takes over a token`(_ pair: Pair) async throws {
        let later: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(1)]
        let earlier: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(2)]
        #expect(try await server.call(.put, Self.path(pair.one), later).status == 201)
        let refused = try await server.call(.put, Self.path(pair.other), earlier)
        #expect(refused.problem == "superseded")
        #expect(refused["reason"] == "taken-over")
        #expect(try await server.call(.get, Self.path(pair.other))["token"] == .null)
        #expect(try await server.call(.get, Self.path(pair.one))["token"] == .token(1))
    }

    @Test(arguments: Pair.all) func `One full state lists two similar ids`(_ pair: Pair) async throws {
        let items = pair.both.enumerated().map { index, id -> JSONValue in
            ["activityId": .string(id), "token": .token(index + 1), "aliases": ["liveactivityId": "both"]]
        }
        let path = "…/installations/phone/activities"
        let both = try await server.call(.put, path, ["observedAt": .minutesAgo(5), "activities": .array(items)])
        #expect(both["results"].all("activityId") == pair.both.map { .string($0) })
        #expect(both["results"].all("outcome") == ["registered", "registered"])
        #expect(try await Self.resolve(on: server).count == 2)
        let one: JSONValue = ["observedAt": .minutesAgo(4), "activities": [items[0]]]
        let rest = try await server.call(.put, path, one)
        #expect(rest["ended"] == .array([.string(pair.other)]))
        #expect(try await Self.resolve(on: server) == [.token(1)])
    }

    /// Two refused ids: one is not the caller's; the other was erased, and its response may contain only that.
    @Test(.secureService, arguments: Pair.all)
    func `Each of two similar ids is refused for its own reason`(_ pair: Pair) async throws {
        let (client, root) = (try await server.key(.client), try await server.key(.root))
        func phone(_ name: String) -> HTTPFields {
            var fields = client.fields
            fields[.installationID] = name
            return fields
        }
        let theirs: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(9)]
        #expect(try await server.call(.put, Self.path(pair.other), theirs, phone("theirs")).status == 201)
        let erased: JSONValue = ["alias": ["kind": "liveactivityId", "value": "gone"]]
        #expect(try await server.call(.post, "…/erasures", erased, root.fields).status == 200)
        let items: JSONValue = [
            ["activityId": .string(pair.other)],
            ["activityId": .string(pair.one), "token": .token(2), "aliases": ["liveactivityId": "gone"]],
        ]
        let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": items]
        let answer = try await server.call(.put, "…/installations/ours/activities", state, phone("ours"))
        let codes = answer["results"].all("problem").map { $0["code"] ?? .null }
        #expect(codes == ["not-yours", "activity-ended"])
    }

    @Test(arguments: Pair.all)
    func `Similar aliases of a request are resolved separately`(_ pair: Pair) async throws {
        for (index, value) in pair.both.enumerated() {
            try await server.register("a-\(index)", token: index, alias: value)
        }
        let aliases = pair.both.map { value -> JSONValue in ["kind": "liveactivityId", "value": .string(value)] }
        let answer = try await server.call(.post, "…/resolve", ["aliases": .array(aliases)])
        #expect(answer["results"].all("alias") == aliases)
        #expect(answer["results"].all("activities").map { $0.all("activityId") } == [["a-0"], ["a-1"]])
        let app = try #require(try await server.registry.app(BundleID("com.example.food")))
        let scope = Scope(app: app, environment: .sandbox)
        let cursor = Cursor(number: 1).text(of: Alias.sample("liveactivityId", pair.one).list("activities"), in: scope)
        let page = "…/aliases/liveactivityId/\(ConsoleLink.encoded(pair.other))/activities?cursor=\(cursor)"
        #expect(try await server.call(.get, page).problem.hasPrefix("invalid-cursor"))
    }

    @Test(arguments: Pair.all) func `Similar names without ids are separate`(_ pair: Pair) async throws {
        var ids: [JSONValue] = []
        for (index, name) in pair.both.enumerated() {
            let body: JSONValue = ["token": .token(index + 1), "alias": .string(name)]
            let answer = try await server.call(.post, "…/activities", body)
            #expect(answer.status == 201)
            ids.append(answer["activityId"])
        }
        #expect(ids[0] != ids[1])
        let ending = "…/activities?alias=\(ConsoleLink.encoded(pair.one))"
        #expect(try await server.call(.delete, ending).status == 204)
        #expect(try await Self.resolve(pair.one, on: server) == [])
        #expect(try await Self.resolve(pair.other, on: server) == [.token(2)])
    }

    @Test(arguments: Pair.all) func `Similar users are separate`(_ pair: Pair) async throws {
        let (user, name) = (UTF8Text(pair.one), UTF8Text(pair.other))
        let principal = Principal(role: .client, who: user, subject: user)
        #expect(throws: Problem.self) {
            try AliasPolicy(.sample()).check([.sample("userId", pair.other)], by: principal)
        }
        #expect(throws: Never.self) { try AliasPolicy(.sample()).check([.sample("userId", pair.one)], by: principal) }
        #expect(Claimant.subject(user, nil) != .subject(name, nil))
        let (database, scope) = try await TestDatabase.withScope()
        for (index, user) in [user, name].enumerated() {
            _ = try await database.registry.register(
                .sample(token: .sample(index)),
                alias: "match-7",
                owner: .subject(user),
                in: scope,
                by: user,
                claimant: .subject(user, nil)
            )
        }
        let alias = Alias.sample("liveactivityId", "match-7")
        let found = try await database.registry.activities(under: alias, limit: 10, in: scope)
        #expect(found.map(\.token) == [.sample(0), .sample(1)])
        for user in [user, name] {
            var filter = EventFilter()
            filter.subject = user
            let events = try await database.registry.events(filter, limit: 10, in: scope).items
            #expect(!events.isEmpty && events.allSatisfy { $0.subject == user && $0.who == user })
        }
    }

    @Test(arguments: Pair.all)
    func `Similar installations and types are separate`(_ pair: Pair) async throws {
        func path(_ installation: String, _ type: String) -> String {
            let parts = [installation, type].map(ConsoleLink.encoded)
            return "…/installations/\(parts[0])/start-tokens/\(parts[1])"
        }
        for (index, installation) in pair.both.enumerated() {
            let profile: JSONValue = ["aliases": ["userId": "u"]]
            let place = "…/installations/\(ConsoleLink.encoded(installation))"
            #expect(try await server.call(.put, place, profile).status == 201)
            for (place, type) in pair.both.enumerated() {
                let token: JSONValue = ["token": .token(index * 2 + place)]
                #expect(try await server.call(.put, path(installation, type), token).status == 201)
            }
        }
        let list = "…/aliases/userId/u/start-tokens"
        let all = try await server.call(.get, list)["tokens"]
        #expect(Set(all.all("installation")).count == 2)
        #expect(Set(all.all("attributesType")).count == 2)
        #expect(all.all("token").count == 4)
        let one = list + "?attributesType=\(ConsoleLink.encoded(pair.one))"
        #expect(Set(try await server.call(.get, one)["tokens"].all("token")) == [.token(0), .token(2)])
        #expect(try await server.call(.delete, path(pair.one, pair.one)).status == 204)
        #expect(Set(try await server.call(.get, list)["tokens"].all("token")) == [.token(1), .token(2), .token(3)])
    }

    @Test(arguments: Pair.all) func `Events belong to their own activity`(_ pair: Pair) async throws {
        try await Self.register(pair, on: server)
        for id in pair.both {
            let path = "…/audit/events?activityId=\(ConsoleLink.encoded(id))"
            #expect(try await server.call(.get, path)["events"].all("activityId") == [.string(id)])
        }
    }
}
