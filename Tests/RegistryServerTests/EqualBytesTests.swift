import HTTPTypes
import RegistryCore
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

    private static func register(_ pair: Pair) async throws {
        for (index, id) in pair.both.enumerated() {
            let body: JSONValue = [
                "token": .token(index + 1), "observedAt": .minutesAgo(5), "aliases": ["liveactivityId": "both"],
            ]
            #expect(try await server.call(.put, path(id), body).status == 201)
        }
    }

    private static func resolve() async throws -> [JSONValue] {
        try await server.call(.get, "…/aliases/liveactivityId/both/activities")["activities"].all("token")
    }

    @Test(arguments: Pair.all, [(410, "Unregistered", "dropped"), (400, "BadDeviceToken", "quarantined")])
    func `Both tokens of one batch are withdrawn`(_ pair: Pair, _ report: (Int, String, String)) async throws {
        try await Self.register(pair)
        #expect(try await Self.resolve().count == 2)
        let reports = [1, 2].map { number -> JSONValue in
            ["token": .token(number), "status": .integer(Int64(report.0)), "reason": .string(report.1)]
        }
        let answer = try await server.call(.post, "…/feedback", ["reports": .array(reports)])
        #expect(answer["results"].all("action") == [.string(report.2), .string(report.2)])
        #expect(try await Self.resolve() == [])
        for id in pair.both { #expect(try await server.call(.get, Self.path(id))["token"] == .null, "\(id)") }
    }

    @Test(arguments: Pair.all) func `One full state lists two similar ids`(_ pair: Pair) async throws {
        let items = pair.both.enumerated().map { index, id -> JSONValue in
            ["activityId": .string(id), "token": .token(index + 1), "aliases": ["liveactivityId": "both"]]
        }
        let path = "…/installations/phone/activities"
        let both = try await server.call(.put, path, ["observedAt": .minutesAgo(5), "activities": .array(items)])
        #expect(both["results"].all("activityId") == pair.both.map { .string($0) })
        #expect(both["results"].all("outcome") == ["registered", "registered"])
        #expect(try await Self.resolve().count == 2)
        let one: JSONValue = ["observedAt": .minutesAgo(4), "activities": [items[0]]]
        let rest = try await server.call(.put, path, one)
        #expect(rest["ended"] == .array([.string(pair.other)]))
        #expect(try await Self.resolve() == [.token(1)])
    }

    /// Two refused ids: one is not the caller's; the other was erased, and its response may contain only that.
    @Test(.secureService, arguments: Pair.all)
    func `Each of two similar ids is refused for its own reason`(_ pair: Pair) async throws {
        let (client, root) = (try await server.key(.client), try await server.key(.root))
        let theirs: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(9)]
        #expect(try await server.call(.put, Self.path(pair.other), theirs, client.fields.on("theirs")).status == 201)
        let erased: JSONValue = ["alias": ["kind": "liveactivityId", "value": "gone"]]
        #expect(try await server.call(.post, "…/erasures", erased, root.fields).status == 200)
        let items: JSONValue = [
            ["activityId": .string(pair.other)],
            ["activityId": .string(pair.one), "token": .token(2), "aliases": ["liveactivityId": "gone"]],
        ]
        let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": items]
        let answer = try await server.call(.put, "…/installations/ours/activities", state, client.fields.on("ours"))
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
        let list = Alias.sample("liveactivityId", pair.one).list("activities")
        let cursor = ListPosition(number: 1).cursor(of: list, in: scope)
        let page = "…/aliases/liveactivityId/\(ConsoleLink.encoded(pair.other))/activities?cursor=\(cursor)"
        #expect(try await server.call(.get, page).problem.hasPrefix("invalid-cursor"))
    }
}
