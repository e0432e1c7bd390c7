import RegistryCore
import Testing

@Suite struct SchemaValidatorTests {
    struct Case: Sendable, CustomStringConvertible {
        let schema: JSONValue
        let valid: [JSONValue]
        let invalid: [JSONValue]
        var description: String { schema.description }
    }

    private static let nothing = JSONValue.null

    static let scalars: [Case] = [
        Case(schema: ["type": "string"], valid: ["", "x"], invalid: [1, nothing, [], true]),
        Case(schema: ["type": "integer"], valid: [0, -1, 2.0], invalid: [1.5, "1", nothing]),
        Case(schema: ["type": "number"], valid: [0, 1.5], invalid: ["1", false]),
        Case(schema: ["type": "boolean"], valid: [true, false], invalid: [0, "true", nothing]),
        Case(schema: ["type": "null"], valid: [nothing], invalid: [0, "", [:]]),
        Case(schema: ["type": ["string", "null"]], valid: ["x", nothing], invalid: [1, [], [:]]),
        Case(schema: ["enum": ["a", "b"]], valid: ["a", "b"], invalid: ["c", "A", nothing, 1]),
        Case(schema: ["const": true], valid: [true], invalid: [false, 1, "true"]),
        Case(schema: ["minimum": 1, "maximum": 1000], valid: [1, 1000, 1.5, "x"], invalid: [0, 1001, 0.5]),
        Case(schema: ["minLength": 1, "maxLength": 3], valid: ["a", "äöü", "👩‍👦", 7], invalid: ["", "abcd"]),
        Case(schema: ["pattern": "^[a-z]+$"], valid: ["abc", 1], invalid: ["", "aB", "a b", "é"]),
        Case(schema: ["pattern": "^(?!\\.{1,2}$)[^\\u0000-\\u001F]+$"], valid: ["...", "ü"], invalid: ["..", "a\n"]),
        Case(
            schema: ["format": "date-time"],
            valid: ["2026-11-21T08:30:00.000Z", "2026-11-21T08:30:00+01:00"],
            invalid: ["2026-11-21", "2026-13-21T08:30:00Z", "now"]
        ),
    ]

    static let structures: [Case] = [
        Case(schema: ["type": "object", "required": ["a"]], valid: [["a": nothing]], invalid: [[:], ["b": 1], []]),
        Case(
            schema: ["properties": ["a": ["type": "integer"]], "additionalProperties": false],
            valid: [[:], ["a": 1]],
            invalid: [["a": "1"], ["a": 1, "b": 1]]
        ),
        Case(
            schema: ["properties": ["a": true], "additionalProperties": ["type": "string"]],
            valid: [["a": 1, "b": "x"]],
            invalid: [["a": 1, "b": 1]]
        ),
        Case(schema: ["propertyNames": ["pattern": "^[a-z]$"]], valid: [["a": 1]], invalid: [["A": 1], ["ab": 1]]),
        Case(schema: ["items": ["type": "integer"]], valid: [[], [1, 2]], invalid: [[1, "2"], [nothing]]),
        Case(schema: ["minItems": 1, "maxItems": 2], valid: [[1], [1, 2]], invalid: [[], [1, 2, 3]]),
        Case(schema: ["items": ["properties": ["a": ["const": 1]]]], valid: [[["a": 1]]], invalid: [[["a": 2]]]),
    ]

    static let combinations: [Case] = [
        Case(schema: ["$ref": "#/components/schemas/Name"], valid: ["abc"], invalid: [1, ""]),
        Case(schema: ["$ref": "#/components/schemas/a~1b"], valid: [1], invalid: ["abc"]),
        Case(schema: ["$ref": "#/components/schemas/Nothing"], valid: [], invalid: [1, "abc", [:]]),
        Case(schema: ["$ref": "#/components/schemas/Name", "maxLength": 3], valid: ["abc"], invalid: ["abcd", ""]),
        Case(schema: ["allOf": [["minimum": 1], ["maximum": 2]]], valid: [1, 2], invalid: [0, 3]),
        Case(schema: ["oneOf": [["type": "integer"], ["minimum": 5]]], valid: [1, 5.5, "x"], invalid: [7, 1.5]),
        Case(schema: ["not": ["required": ["a", "b"]]], valid: [[:], ["a": 1]], invalid: [["a": 1, "b": nothing]]),
        Case(schema: ["not": false], valid: [1, nothing], invalid: []),
        Case(schema: true, valid: [1, nothing], invalid: []),
        Case(schema: false, valid: [], invalid: [1, nothing]),
    ]

    private let validator = SchemaValidator(document: [
        "components": ["schemas": ["Name": ["type": "string", "minLength": 1], "a/b": ["type": "integer"]]]
    ])

    @Test(arguments: scalars + structures + combinations)
    func `Valid values pass, and invalid ones fail`(_ example: Case) {
        for value in example.valid {
            #expect(validator.faults(of: value, against: example.schema) == [], "\(value) must be valid")
        }
        for value in example.invalid {
            #expect(validator.faults(of: value, against: example.schema) != [], "\(value) must be invalid")
        }
    }

    @Test func `A fault has its location`() {
        let schema: JSONValue = ["properties": ["a": ["items": ["type": "integer"]]]]
        let faults = validator.faults(of: ["a": [1, "2"]], against: schema)
        #expect(faults == [JSONFault(pointer: "/a/1", detail: "must be of type integer")])
    }

    @Test(arguments: ["uniqueItems", "anyOf", "not", "if", "format", "minimun", "type"])
    func `Unknown keywords are faults`(keyword: String) {
        let schema = JSONValue.object([keyword: "unheard-of"])
        #expect(validator.faults(of: "x", against: schema) != [])
        #expect(validator.faults(of: [:], against: ["properties": ["a": schema]]) == [])
        #expect(validator.faults(of: ["a": "x"], against: ["properties": ["a": schema]]) != [])
    }

    @Test func `If requested, undocumented members are faults`() {
        let strict = SchemaValidator(document: validator.document, refusesUndocumented: true)
        let schema: JSONValue = [
            "allOf": [["properties": ["a": ["properties": ["b": true]]]], ["properties": ["c": ["type": "object"]]]]
        ]
        #expect(strict.faults(of: ["a": ["b": 1], "c": ["free": 1]], against: schema) == [])
        #expect(strict.faults(of: ["d": 1], against: schema).map(\.pointer) == ["/d"])
        #expect(strict.faults(of: ["a": ["d": 1]], against: schema).map(\.pointer) == ["/a/d"])
        #expect(validator.faults(of: ["a": ["d": 1], "d": 1], against: schema) == [])
    }
}
