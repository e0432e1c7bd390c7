import RegistryCore
import Testing

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
