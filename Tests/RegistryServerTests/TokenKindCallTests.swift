import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// All calls about tokens, for kinds of tokens that an app's settings add, and for `voip`.
@Suite(.service, .timeLimit(.minutes(15))) struct TokenKindCallTests {
    private static let app = "/v1/apps/com.example.food"
    private static let kinds: JSONValue = [
        "controls": ["topicSuffix": ".push-type.controls", "pushType": "controls"],
        "card": ["topicSuffix": "", "pushType": "background", "per": "attributes-type"],
    ]

    private static func put(_ kinds: JSONValue, _ server: LiveServer) async throws -> Reply {
        try await server.call(.put, app, ["tokenKinds": kinds])
    }

    private static func make(_ server: LiveServer) async throws {
        let settings = try await put(kinds, server)
        #expect(settings.status == 200 && settings["tokenKinds"]["card"]?["per"] == "attributes-type")
        #expect(settings["tokenKinds"]["controls"]?["per"] == "installation")
        _ = try await server.call(.put, "…/installations/phone-1", ["aliases": ["userId": "u-7"]])
    }

    @Test func `A custom kind has the same calls, feedback, audit and counts as a built-in kind`() async throws {
        try await Self.make(server)
        let suffixes = ["voip": ".voip", "controls": ".push-type.controls"]
        for (number, kind) in ["voip", "controls"].enumerated() {
            let path = "…/installations/phone-1/tokens/\(kind)"
            #expect(try await server.call(.put, path, ["token": .token(10 * number + 1)]).status == 201)
            #expect(try await server.call(.put, path, ["token": .token(10 * number + 2)])["outcome"] == "rotated")
            let list = try await server.call(.get, "…/aliases/userId/u-7/tokens/\(kind)")
            #expect(list["tokens"].all("token") == [.token(10 * number + 2)])
            #expect(list["topic"] == .string("com.example.food" + (suffixes[kind] ?? "")))
            #expect(list["pushType"] == .string(kind))
            let stale = try await server.call(.get, "…/audit/stale?kind=\(kind)&unconfirmedFor=PT1S")
            #expect(stale.status == 200)
            // A value is of one kind.
            let conflict = try await server.call(.put, "…/activities/a", ["token": .token(10 * number + 2)])
            #expect(conflict["code"] == "token-kind-conflict")
            let report: JSONValue = ["token": .token(10 * number + 2), "status": 400, "reason": "BadDeviceToken"]
            let answer = try await server.call(.post, "…/feedback", ["reports": [report]])
            #expect(answer["results"].all("action") == ["quarantined"])
            #expect(try await server.call(.get, "…/aliases/userId/u-7/tokens/\(kind)")["tokens"] == [])
            let quarantined = try await server.call(.get, "…/audit/stale?kind=\(kind)&reason=quarantined")
            #expect(quarantined["tokens"].all("kind") == [.string(kind)])
            #expect(try await server.call(.post, path + "/release").status == 204)
            #expect(try await server.call(.delete, path).status == 204)
        }
        let controls = "…/installations/phone-1/tokens/controls"
        #expect(try await server.call(.put, controls, ["token": .token(3)]).status == 200)
        let statistics = try await server.call(.get, "…/stats")["tokens"]
        #expect(statistics.all("kind") == ["update", "start", "device", "widget", "voip", "controls"])
        #expect(statistics.all("count") == [0, 0, 0, 0, 0, 1])
        let metrics = try await server.call(.get, "/metrics").text
        for series in [
            #"pushreg_tokens{environment="sandbox",kind="controls",state="current"} 1"#,
            #"pushreg_registrations_total{kind="other",outcome="rotated"} 1"#,
            #"pushreg_registrations_total{kind="voip",outcome="rotated"} 1"#,
        ] { #expect(metrics.contains(series), "\(series)") }
        #expect(try await server.call(.post, "…/release")["released"] == 0)
        #expect(
            try await server.call(.get, "…/aliases/userId/u-7/tokens/watch").problem == "invalid-request /tokenKind"
        )
    }

    @Test func `A kind may have one token for each attributes type`() async throws {
        try await Self.make(server)
        let path = "…/installations/phone-1/tokens/card"
        #expect(try await server.call(.put, path, ["token": .token(1)]).problem == "invalid-request /attributesType")
        for type in ["Delivery", "Match"] {
            let reply = try await server.call(.put, path + "?attributesType=\(type)", ["token": .token(1)])
            #expect(reply.status == 201 && reply["attributesType"] == .string(type))
        }
        func types(_ query: String = "") async throws -> [JSONValue] {
            try await server.call(.get, "…/aliases/userId/u-7/tokens/card\(query)")["tokens"].all("attributesType")
        }
        #expect(try await types() == ["Delivery", "Match"])
        #expect(try await types("?attributesType=Match") == ["Match"])
        #expect(try await server.call(.delete, path + "?attributesType=Match").status == 204)
        #expect(try await types() == ["Delivery"])
    }

    @Test func `A kind with tokens stays until they are purged`() async throws {
        try await Self.make(server)
        let path = "…/installations/phone-1/tokens/controls"
        let observed: JSONValue = ["token": .token(1), "observedAt": .minutesAgo(5)]
        #expect(try await server.call(.put, path, observed).status == 201)
        let other: JSONValue = ["controls": ["topicSuffix": ".x", "pushType": "x", "per": "attributes-type"]]
        for kinds in [[:], other] {
            #expect(try await Self.put(kinds, server).problem == "invalid-request /tokenKinds")
        }
        // The way to push to it may change, and kinds without tokens may go.
        let kept: JSONValue = ["controls": ["topicSuffix": ".x", "pushType": "x"]]
        #expect(try await Self.put(kept, server).status == 200)
        #expect(try await server.call(.get, "…/aliases/userId/u-7/tokens/controls")["pushType"] == "x")
        #expect(try await server.call(.delete, path).status == 204)
        #expect(try await Self.put([:], server).status == 200)
        #expect(try await server.call(.put, path, ["token": .token(2)]).problem == "invalid-request /tokenKind")
        #expect(try await server.call(.get, "…/stats").status == 200)
        // The null of an app's settings changes nothing.
        #expect(try await Self.put(kept, server).status == 200)
        #expect(try await Self.put(.null, server)["tokenKinds"]["controls"]?["pushType"] == "x")
    }

    @Test func `A registration by an instance that still knows a removed kind gives senders nothing`() async throws {
        try await Self.make(server)
        let bundleID = try BundleID("com.example.food")
        let known = Scope(app: try #require(try await database.registry.app(bundleID)), environment: .sandbox)
        let controls = try TokenKind("controls", among: known.app.settings.allTokenKinds)
        #expect(try await Self.put([:], server).status == 200)
        _ = try await database.registry.register(
            TokenRegistration(token: .sample(1)),
            in: .only(controls),
            of: InstallationHash(of: InstallationID("phone-1"), in: bundleID),
            in: known,
            by: "another instance"
        )
        let list = "…/aliases/userId/u-7/tokens/controls"
        #expect(try await server.call(.get, list).problem == "invalid-request /tokenKind")
        #expect(try await server.call(.get, "…/stats").status == 200)
        #expect(try await server.call(.get, "…/audit/stale?unconfirmedFor=PT1S").status == 200)
        #expect(try await server.call(.get, "…/audit/explain?kind=userId&value=u-7").status == 200)
        #expect(try await Self.put(Self.kinds, server).status == 200)
        #expect(try await server.call(.get, list)["tokens"].all("token") == [.token(1)])
    }
}
