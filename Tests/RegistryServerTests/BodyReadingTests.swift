import Foundation
import RegistryCore
import Testing

@Suite struct BodyReadingTests {
    private func registration(_ value: JSONValue, requiresToken: Bool = true) -> (ActivityRegistration, [JSONFault]) {
        var json = JSONReader(value)
        let registration = ActivityRegistration(from: &json, requiresToken: requiresToken)
        return (registration, json.faults)
    }

    @Test func `A registration with all members is read`() throws {
        let (registration, faults) = registration([
            "token": "DEADbeef", "observedAt": "2026-11-21T08:30:00.250+01:00", "startedAt": "2026-11-21T07:00:00Z",
            "attributesType": "Delivery", "aliases": ["userId": "u-7", "liveactivityId": ["o-1", "o-2", "o-1"]],
            "frequentPushesEnabled": false, "metadata": ["b": 1, "a": [true, .null]], "unknown": [1, 2],
        ])
        #expect(faults.isEmpty)
        #expect(registration.token?.bytes == [0xDE, 0xAD, 0xBE, 0xEF])
        #expect(registration.observedAt == RFC3339.parse("2026-11-21T07:30:00.250Z"))
        #expect(
            registration.aliases?.aliases.map { $0.description } == [
                "liveactivityId:o-1", "liveactivityId:o-2", "userId:u-7",
            ]
        )
        #expect(registration.facts.frequentPushesEnabled == false)
        #expect(registration.metadata?.canonicalJSON == Array(#"{"a":[true,null],"b":1}"#.utf8))
    }

    @Test func `Null counts as absent, and an empty object clears`() {
        let (kept, faults) = registration(["token": "00", "aliases": .null, "metadata": .null, "observedAt": .null])
        #expect(faults.isEmpty)
        #expect(kept.aliases == nil)
        #expect(kept.metadata == nil)
        #expect(kept.observedAt == nil)
        let (cleared, others) = registration(["token": "00", "aliases": [:], "metadata": [:]])
        #expect(others.isEmpty && cleared.aliases?.aliases == [] && cleared.metadata?.canonicalJSON == Array("{}".utf8))
        #expect(registration(["token": "00", "aliases": ["userId": .null, "orderId": []]]).0.aliases?.aliases == [])
    }

    @Test func `Every fault of a body is reported in one response`() {
        let (_, faults) = registration([
            "observedAt": "yesterday", "startedAt": 5, "attributesType": "", "frequentPushesEnabled": "yes",
            "pushType": "token",
            "aliases": ["1x": "a", "userId": ["u-7", "", 5], "orderId": ".."],
            "metadata": .object(JSONObject([("a", .string(String(repeating: "x", count: 2048)))])),
        ])
        #expect(
            faults.map(\.pointer) == [
                "/token", "/observedAt", "/startedAt", "/attributesType", "/frequentPushesEnabled", "/pushType",
                "/aliases/1x", "/aliases/userId/1", "/aliases/userId/2", "/aliases/orderId", "/metadata",
            ]
        )
    }

    /// The last are as other libraries and platforms write tokens.
    @Test(arguments: [
        "", "0", "xy", "0g", String(repeating: "ab", count: 513), "de ad", "<00112233 44556677>",
        "{length = 32, bytes = 0x00112233 44556677}", "ABEiM0RVZneImaq7zN3u/w==", "0x00112233", "nil",
        "fGx8Zk1:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", "ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]",
    ])
    func `Responses never contain a malformed token`(_ token: String) {
        let faults = registration(["token": .string(token)]).1
        #expect(faults.map(\.pointer) == ["/token"])
        #expect(token.isEmpty || faults.allSatisfy { !$0.detail.contains(token) || token.count < 3 })
    }

    @Test func `A token may be long`() {
        #expect(registration(["token": .string(String(repeating: "ab", count: 512))]).1.isEmpty)
    }

    @Test func `A body has at most 16 aliases`() {
        let values = (0..<17).map { JSONValue.string("o-\($0)") }
        #expect(registration(["token": "00", "aliases": ["a": .array(Array(values.prefix(16)))]]).1.isEmpty)
        let faults = registration(["token": "00", "aliases": ["a": .array(values)]]).1
        #expect(faults.map(\.pointer) == ["/aliases"])
    }

    @Test(arguments: [JSONValue.array([]), .string("x"), .null, .integer(1)])
    func `A body that is not an object is refused`(_ value: JSONValue) {
        #expect(registration(value).1 == [JSONFault(pointer: "", detail: "must be an object")])
    }
}

@Suite struct BatchReadingTests {
    @Test func `Items of a full state are read separately`() throws {
        var json = JSONReader([
            "observedAt": "2026-11-21T08:30:00Z",
            "activities": [
                ["activityId": "a-1"], ["activityId": "a-2", "token": "xyz", "startedAt": 1], ["token": "00"], 7,
                ["activityId": "a-1", "token": "00"],
            ],
        ])
        let body = try #require(FullStateBody.read(&json))
        #expect(json.faults.isEmpty)
        #expect(body.readable.items.map(\.activityID.rawValue) == ["a-1", "a-2", "a-1"])
        #expect(
            body.readable.items[1].problem?.errors.map(\.pointer) == ["/activities/1/token", "/activities/1/startedAt"]
        )
        let answer = FullStateResults(
            results: body.readable.items.map { item in
                item.problem.map { .failure($0) } ?? .success(.registered)
            },
            ended: []
        )
        let results = body.results(answer)
        #expect(results.map { $0.activityID?.rawValue } == ["a-1", "a-2", nil, nil, "a-1"])
        let codes = results.map { result in
            if case .failure(let problem) = result.result { problem.code.rawValue } else { "ok" }
        }
        #expect(codes == ["ok", "invalid-request", "invalid-request", "invalid-request", "ok"])
        let third = try JSONParser.parse(results[2].jsonBytes)
        #expect(third["activityId"] == nil)
        #expect(third["problem"]?["errors"] == [["pointer": "/activities/2/activityId", "detail": "is required"]])
    }

    @Test func `The outer members of a full state are checked`() {
        let tooMany = JSONValue.array([JSONValue](repeating: ["activityId": "a"], count: 1001))
        let cases: [(JSONValue, [String])] = [
            ([:], ["/observedAt", "/activities"]),
            (["observedAt": "x", "activities": [:]], ["/observedAt", "/activities"]),
            (["observedAt": "2026-11-21T08:30:00Z", "activities": tooMany], ["/activities"]), ([], [""]),
        ]
        for (value, pointers) in cases {
            var json = JSONReader(value)
            #expect(FullStateBody.read(&json) == nil)
            #expect(json.faults.map(\.pointer) == pointers)
        }
    }

    @Test func `Aliases to resolve are read`() throws {
        var json = JSONReader([
            "aliases": [["kind": "userId", "value": "u"], ["kind": "1", "value": ""], 3, ["kind": "a"]]
        ])
        let body = try #require(ResolveBody.read(&json))
        #expect(json.faults.isEmpty)
        #expect(body.limitPerAlias == 100)
        let pointers = body.aliases.map { alias in
            if case .failure(let problem) = alias { problem.errors.map(\.pointer) } else { [String]() }
        }
        #expect(pointers == [[], ["/aliases/1/kind", "/aliases/1/value"], ["/aliases/2"], ["/aliases/3/value"]])
    }

    @Test(
        arguments: [
            (["aliases": [], "limitPerAlias": 0], "/limitPerAlias"),
            (["aliases": [], "limitPerAlias": 1001], "/limitPerAlias"),
            (["aliases": [], "limitPerAlias": "5"], "/limitPerAlias"), (["limitPerAlias": 1], "/aliases"),
        ] as [(JSONValue, String)]
    )
    func `The outer members of a resolve are checked`(_ value: JSONValue, _ pointer: String) {
        var json = JSONReader(value)
        _ = ResolveBody.read(&json)
        #expect(json.faults.map(\.pointer) == [pointer])
    }

    @Test func `At most 1,000 aliases are resolved`() {
        let alias: JSONValue = ["kind": "a", "value": "b"]
        var json = JSONReader(["aliases": .array(Array(repeating: alias, count: 1000))])
        #expect(ResolveBody.read(&json)?.aliases.count == 1000)
        json = JSONReader(["aliases": .array(Array(repeating: alias, count: 1001))])
        #expect(ResolveBody.read(&json) == nil)
        #expect(json.faults.map(\.pointer) == ["/aliases"])
    }
}
