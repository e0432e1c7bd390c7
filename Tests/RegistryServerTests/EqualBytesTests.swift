import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Callers' names are bytes: ids that `String` treats as equal are two ids everywhere.
@Suite(.service, .timeLimit(.minutes(15))) struct EqualBytesTests {
    private static let pairs = [["\u{212A}-1", "K-1"], ["caf\u{E9}", "cafe\u{301}"], ["\u{212B}", "\u{C5}"]]

    private static func path(_ id: String) -> String { "…/activities/\(ConsoleLink.encoded(id))" }

    private static func resolve() async throws -> [JSONValue] {
        try await server.call(.get, "…/aliases/liveactivityId/both/activities")["activities"].all("token")
    }

    @Test(arguments: pairs, [(410, "Unregistered", "dropped"), (400, "BadDeviceToken", "quarantined")])
    func `Both tokens of one batch are withdrawn`(_ pair: [String], _ report: (Int, String, String)) async throws {
        for (index, id) in pair.enumerated() {
            let body: JSONValue = [
                "token": .token(index), "observedAt": .minutesAgo(5), "aliases": ["liveactivityId": "both"],
            ]
            #expect(try await server.call(.put, Self.path(id), body).status == 201)
        }
        #expect(try await Self.resolve().count == 2)
        let reports = pair.indices.map { number -> JSONValue in
            ["token": .token(number), "status": .integer(Int64(report.0)), "reason": .string(report.1)]
        }
        let answer = try await server.call(.post, "…/feedback", ["reports": .array(reports)])
        #expect(answer["results"].all("action") == [.string(report.2), .string(report.2)])
        #expect(try await Self.resolve() == [])
        for id in pair { #expect(try await server.call(.get, Self.path(id))["token"] == .null, "\(id)") }
    }

    @Test(arguments: pairs) func `One full state lists two similar ids`(_ pair: [String]) async throws {
        let items = pair.enumerated().map { index, id -> JSONValue in
            ["activityId": .string(id), "token": .token(index), "aliases": ["liveactivityId": "both"]]
        }
        let path = "…/installations/phone/activities"
        let both = try await server.call(.put, path, ["observedAt": .minutesAgo(5), "activities": .array(items)])
        #expect(both["results"].all("activityId") == pair.map { .string($0) })
        #expect(both["results"].all("outcome") == ["registered", "registered"])
        #expect(try await Self.resolve().count == 2)
        let rest = try await server.call(.put, path, ["observedAt": .minutesAgo(4), "activities": [items[0]]])
        #expect(rest["ended"] == .array([.string(pair[1])]))
        #expect(try await Self.resolve() == [.token(0)])
    }

    /// Two refused ids: one is not the caller's; the other was erased, and its response may contain only that.
    @Test(.secureService, arguments: pairs)
    func `Each of two similar ids is refused for its own reason`(_ pair: [String]) async throws {
        let (client, root) = (try await server.key(.client), try await server.key(.root))
        let theirs: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(9)]
        #expect(try await server.call(.put, Self.path(pair[1]), theirs, client.fields.on("theirs")).status == 201)
        let erased: JSONValue = ["alias": ["kind": "liveactivityId", "value": "gone"]]
        #expect(try await server.call(.post, "…/erasures", erased, root.fields).status == 200)
        let items: JSONValue = [
            ["activityId": .string(pair[1])],
            ["activityId": .string(pair[0]), "token": .token(2), "aliases": ["liveactivityId": "gone"]],
        ]
        let state: JSONValue = ["observedAt": .minutesAgo(1), "activities": items]
        let answer = try await server.call(.put, "…/installations/ours/activities", state, client.fields.on("ours"))
        let codes = answer["results"].all("problem").map { $0["code"] ?? .null }
        #expect(codes == ["not-yours", "activity-ended"])
    }

    @Test(arguments: pairs) func `Similar aliases of a request are resolved separately`(_ pair: [String]) async throws {
        for (index, value) in pair.enumerated() { try await server.register("a-\(index)", token: index, alias: value) }
        let aliases = pair.map { value -> JSONValue in ["kind": "liveactivityId", "value": .string(value)] }
        let answer = try await server.call(.post, "…/resolve", ["aliases": .array(aliases)])
        #expect(answer["results"].all("alias") == aliases)
        #expect(answer["results"].all("activities").map { $0.all("activityId") } == [["a-0"], ["a-1"]])
        let list = Alias.sample("liveactivityId", pair[0]).list("activities")
        let cursor = ListPosition(number: 1).cursor(of: list, in: try await database.scope())
        let page = "…/aliases/liveactivityId/\(ConsoleLink.encoded(pair[1]))/activities?cursor=\(cursor)"
        #expect(try await server.call(.get, page).problem.hasPrefix("invalid-cursor"))
    }
}
