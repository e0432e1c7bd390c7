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
        #expect(registration(["token": "00", "aliases": ["a": .array(values)]]).1.map(\.pointer) == ["/aliases"])
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

@Suite struct AppReadingTests {
    private func changes(_ value: JSONValue) -> (AppChanges, [JSONFault]) {
        var json = JSONReader(value)
        let changes = AppChanges(from: &json)
        return (changes, json.faults)
    }

    @Test func `Absent and null change nothing`() {
        #expect(changes([:]).0 == AppChanges())
        #expect(changes(["name": .null, "aliasRules": .null, "jwt": .null]).0 == AppChanges())
        #expect(changes(["aliasRules": ["orderId": "any", "userId": .null]]).0.aliasRules == ["orderId": .any])
        #expect(changes(["jwt": [:]]).0.jwt == JSONObject())
        let keys: JSONValue = ["keys": []]
        let settings: JSONValue = [
            "issuer": "i", "audience": "a", "jwks": keys, "jwksUrl": .null, "subjectClaim": .null,
        ]
        #expect(changes(["jwt": settings]).0.jwt == ["issuer": "i", "audience": "a", "jwks": keys])
    }

    @Test(
        arguments: [
            (["name": ""], "/name"), (["name": 5], "/name"), (["name": "a\u{0}b"], "/name"),
            (["activityLifetime": "PT0S"], "/activityLifetime"), (["activityLifetime": "P8D"], "/activityLifetime"),
            (["activityLifetime": "8h"], "/activityLifetime"), (["eventRetention": "P3661D"], "/eventRetention"),
            (["tombstoneRetention": "P999999999999D"], "/tombstoneRetention"),
            (["activityLifetime": "PT8H", "tombstoneRetention": "PT8H59M"], "/tombstoneRetention"),
            (["aliasRules": ["userId": "everyone"]], "/aliasRules/userId"),
            (["aliasRules": ["1": "any"]], "/aliasRules/1"), (["aliasRules": []], "/aliasRules"),
            (["jwt": "x"], "/jwt"),
            (["jwt": ["issuer": "i", "audience": "a"]], "/jwt"),
            (["jwt": ["issuer": "i", "audience": "a", "jwksUrl": "https://x.y/z", "jwks": ["keys": []]]], "/jwt"),
            (["jwt": ["issuer": "i", "audience": "a", "jwksUrl": "ftp://x.y/z"]], "/jwt/jwksUrl"),
            (["jwt": ["issuer": "i", "audience": "a", "jwksUrl": "https:///z"]], "/jwt/jwksUrl"),
            (["jwt": ["issuer": "i", "audience": "a", "jwks": ["keys": [1]]]], "/jwt/jwks"),
            (["jwt": ["audience": "a", "jwks": ["keys": []]]], "/jwt/issuer"),
            (["jwt": ["issuer": "i", "audience": ["a", 1], "jwks": ["keys": []]]], "/jwt/audience/1"),
            (["jwt": ["issuer": "i", "jwks": ["keys": []]]], "/jwt/audience"),
        ] as [(JSONValue, String)]
    )
    func `Every fault of an app's settings is named`(_ value: JSONValue, _ pointer: String) {
        #expect(changes(value).1.map(\.pointer) == [pointer])
    }

    @Test(
        arguments: [
            ("voip", "/voip"), ("update", "/update"), ("activity", "/activity"), ("", "/"), ("Card", "/Card"),
            ("1", "/1"), ("a/b", "/a~1b"), ("..", "/.."), ("ä", "/ä"), ("a\u{0}", "/a\u{0}"),
        ].map { ([$0: ["topicSuffix": ".x", "pushType": "x"]], $1) } + [
            (["a": ["topicSuffix": "x", "pushType": "x"]], "/a/topicSuffix"),
            (["a": ["topicSuffix": ".x\r\ny", "pushType": "x"]], "/a/topicSuffix"),
            (["a": ["topicSuffix": ".", "pushType": ""]], "/a/pushType"),
            (["a": ["topicSuffix": "", "pushType": "A"]], "/a/pushType"),
            (["a": ["topicSuffix": "", "pushType": "a", "per": "activity"]], "/a/per"),
            (["a": ["pushType": "a"]], "/a/topicSuffix"), (["a": 7], "/a"),
        ] as [(JSONObject, String)]
    )
    func `Hostile kinds of tokens, and those of a built-in kind, are refused`(_ kinds: JSONObject, _ pointer: String) {
        #expect(changes(["tokenKinds": .object(kinds)]).1.map(\.pointer) == ["/tokenKinds\(pointer)"])
    }

    @Test func `An app has at most 16 kinds of tokens, with names of at most 32 bytes`() {
        func faults(_ names: [String]) -> [String] {
            let kinds = names.map { ($0, ["topicSuffix": "", "pushType": "a"] as JSONValue) }
            return changes(["tokenKinds": .object(JSONObject(kinds))]).1.map(\.pointer)
        }
        let names = (0..<17).map { "k\($0)" }
        #expect(faults(names) == ["/tokenKinds"] && faults(Array(names.dropFirst())) == [])
        let long = String(repeating: "a", count: 33)
        #expect(faults([long]) == ["/tokenKinds/\(long)"])
    }
}
