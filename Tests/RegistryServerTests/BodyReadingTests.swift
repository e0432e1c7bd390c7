import RegistryCore
import Testing

@Suite struct BodyReadingTests {
    private func registration(_ value: JSONValue, requiresToken: Bool = true) -> (ActivityRegistration, [JSONFault]) {
        var json = JSONReader(value)
        let registration = ActivityRegistration(from: &json, requiresToken: requiresToken)
        return (registration, json.faults)
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

    @Test func `A body has at most 16 aliases and a token of at most 512 bytes`() {
        #expect(registration(["token": .string(String(repeating: "ab", count: 512))]).1.isEmpty)
        let values = (0..<17).map { JSONValue.string("o-\($0)") }
        #expect(registration(["token": "00", "aliases": ["a": .array(Array(values.prefix(16)))]]).1.isEmpty)
        let faults = registration(["token": "00", "aliases": ["a": .array(values)]]).1
        #expect(faults.map(\.pointer) == ["/aliases"])
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

    private static func aliases(_ count: Int) -> JSONValue {
        .array(.init(repeating: ["kind": "a", "value": "b"], count: count))
    }

    @Test(
        arguments: [
            (["aliases": aliases(1000)], []), (["aliases": aliases(1001)], ["/aliases"]),
            (["aliases": [], "limitPerAlias": 0], ["/limitPerAlias"]),
            (["aliases": [], "limitPerAlias": 1001], ["/limitPerAlias"]),
            (["aliases": [], "limitPerAlias": "5"], ["/limitPerAlias"]), (["limitPerAlias": 1], ["/aliases"]),
        ] as [(JSONValue, [String])]
    )
    func `The outer members of a resolve are checked`(_ value: JSONValue, _ pointers: [String]) {
        var json = JSONReader(value)
        let body = ResolveBody.read(&json)
        #expect(json.faults.map(\.pointer) == pointers)
        if pointers.isEmpty { #expect(body?.aliases.count == 1000 && body?.limitPerAlias == 100) }
    }
}
