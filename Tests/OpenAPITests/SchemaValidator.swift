import RegistryCore
import TestSupport
import Testing

/// Validates JSON against the subset of JSON Schema 2020-12 that our OpenAPI 3.1 document uses.
///
/// An unknown keyword is an error, so none is ignored silently.
struct SchemaValidator: Sendable {
    /// The target of `#/…` references.
    let document: JSONValue
    /// Also reports members that the schema does not name, unless it has `additionalProperties`. Readers must ignore
    /// unknown members, but the service must not send undocumented ones.
    var refusesUndocumented = false

    func faults(of value: JSONValue, against schema: JSONValue, at pointer: String = "") -> [JSONFault] {
        let faults = branchFaults(of: value, against: schema, at: pointer)
        guard refusesUndocumented, let names = documentedNames(of: schema), !names.isEmpty else { return faults }
        let others = value.members.keys.filter { !names.contains($0) }
        return faults + others.map { JSONFault(pointer: "\(pointer)/\($0)", detail: "is not documented") }
    }

    /// Like ``faults(of:against:)``, but without the check for undocumented members, which needs all branches.
    func branchFaults(of value: JSONValue, against schema: JSONValue, at pointer: String) -> [JSONFault] {
        switch schema {
        case .bool(true): []
        case .object(let keywords): keywords.flatMap { faults(of: value, keyword: $0, among: keywords, at: pointer) }
        default: [JSONFault(pointer: pointer, detail: "is not allowed")]
        }
    }

    /// The target of a local reference; null, which is not a schema, if it does not exist.
    func resolve(_ reference: String) -> JSONValue {
        guard reference.hasPrefix("#/") else { return .null }
        return reference.dropFirst(2).split(separator: "/").reduce(document) { value, part in
            value[String(part).replacing("~1", with: "/").replacing("~0", with: "~")] ?? .null
        }
    }

    private func faults(
        of value: JSONValue,
        keyword: JSONObject.Member,
        among keywords: JSONObject,
        at pointer: String
    ) -> [JSONFault] {
        func fault(_ detail: String) -> JSONFault { JSONFault(pointer: pointer, detail: detail) }
        func memberFaults(_ member: JSONObject.Member, _ schema: JSONValue) -> [JSONFault] {
            faults(of: member.value, against: schema, at: "\(pointer)/\(member.key)")
        }
        switch (keyword.key, keyword.value) {
        case ("description", _), ("examples", _), ("example", _), ("default", _), ("x-enum-varnames", _),
            ("x-swift-identifiable", _):
            return []
        case ("$ref", .string(let reference)):
            return branchFaults(of: value, against: resolve(reference), at: pointer)
        case ("allOf", .array(let schemas)):
            return schemas.flatMap { branchFaults(of: value, against: $0, at: pointer) }
        case ("oneOf", .array(let schemas)):
            let all = schemas.map { branchFaults(of: value, against: $0, at: pointer) }
            let matches = all.count(where: \.isEmpty)
            guard matches != 1 else { return [] }
            let nearest = matches == 0 ? all.min { $0.count < $1.count } ?? [] : []
            return [fault("matches \(matches) of \(schemas.count) alternatives")] + nearest
        case ("not", .object), ("not", .bool):
            let isExcluded = branchFaults(of: value, against: keyword.value, at: pointer).isEmpty
            return isExcluded ? [fault("must not match \(keyword.value)")] : []
        case ("properties", .object(let properties)):
            return value.members.flatMap { member in properties[member.key].map { memberFaults(member, $0) } ?? [] }
        case ("additionalProperties", let schema):
            let others = value.members.filter { keywords["properties"]?[$0.key] == nil }
            return others.flatMap { memberFaults($0, schema) }
        case ("propertyNames", let schema):
            return value.members.keys.flatMap { faults(of: .string($0), against: schema, at: "\(pointer)/\($0)") }
        case ("items", let schema):
            return value.elements.enumerated().flatMap { faults(of: $1, against: schema, at: "\(pointer)/\($0)") }
        default:
            guard let isValid = isValid(value, keyword) else {
                return [fault("meets the unsupported keyword \(keyword)")]
            }
            return isValid ? [] : [fault("violates \(keyword.key) \(keyword.value)")]
        }
    }

    /// Whether a value follows a keyword that has no inner schemas; nil for another keyword. As in JSON Schema, a keyword
    /// ignores values of other types.
    private func isValid(_ value: JSONValue, _ keyword: JSONObject.Member) -> Bool? {
        switch (keyword.key, keyword.value) {
        case ("type", .string(let name)): value.isOf(type: name)
        case ("type", .array(let names)): names.contains { $0.string.map(value.isOf) ?? false }
        case ("enum", .array(let values)): values.contains(value)
        case ("const", let constant): value == constant
        case ("required", .array(let names)):
            !value.isOf(type: "object") || names.allSatisfy { $0.string.map { value[$0] != nil } ?? false }
        case ("minimum", _), ("maximum", _): isWithin(value.double, keyword)
        case ("minItems", _), ("maxItems", _):
            isWithin(value.isOf(type: "array") ? Double(value.elements.count) : nil, keyword)
        case ("minLength", _), ("maxLength", _): isWithin(value.string.map { Double($0.unicodeScalars.count) }, keyword)
        case ("pattern", .string(let pattern)):
            (try? Regex(pattern).matchingSemantics(.unicodeScalar)).map { regex in
                value.string.map { $0.firstMatch(of: regex) != nil } ?? true
            }
        case ("format", "date-time"): value.string.map { RFC3339.parse($0) != nil } ?? true
        default: nil
        }
    }

    private func isWithin(_ size: Double?, _ keyword: JSONObject.Member) -> Bool? {
        guard let limit = keyword.value.double else { return nil }
        return size.map { keyword.key.hasPrefix("min") ? $0 >= limit : $0 <= limit } ?? true
    }

    /// The members that a schema and its branches name; nil if it allows all.
    private func documentedNames(of schema: JSONValue) -> Set<String>? {
        guard schema["additionalProperties"] == nil else { return nil }
        var names = Set(schema["properties"]?.members.keys ?? [])
        let references = schema["$ref"]?.string.map { [resolve($0)] } ?? []
        for branch in references + (schema["allOf"]?.elements ?? []) + (schema["oneOf"]?.elements ?? []) {
            guard let more = documentedNames(of: branch) else { return nil }
            names.formUnion(more)
        }
        return names
    }
}

extension JSONValue {
    fileprivate var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    fileprivate func isOf(type name: String) -> Bool {
        switch (self, name) {
        case (.null, "null"), (.bool, "boolean"), (.string, "string"), (.array, "array"), (.object, "object"): true
        case (.integer, "integer"), (.integer, "number"), (.number, "number"): true
        case (.number(let number), "integer"): number == number.rounded()
        default: false
        }
    }
}

@Suite struct SchemaValidatorTests {
    typealias Case = (schema: JSONValue, valid: [JSONValue], invalid: [JSONValue])

    private static let scalars: [Case] = [
        (["type": "string"], ["", "x"], [1, .null, [], true]), (["type": "integer"], [0, -1, 2.0], [1.5, "1", .null]),
        (["type": "number"], [0, 1.5], ["1", false]), (["type": "boolean"], [true, false], [0, "true", .null]),
        (["type": "null"], [.null], [0, "", [:]]), (["type": ["string", "null"]], ["x", .null], [1, [], [:]]),
        (["enum": ["a", "b"]], ["a", "b"], ["c", "A", .null, 1]), (["const": true], [true], [false, 1, "true"]),
        (["minimum": 1, "maximum": 1000], [1, 1000, 1.5, "x"], [0, 1001, 0.5]),
        (["minLength": 1, "maxLength": 3], ["a", "äöü", "👩‍👦", 7], ["", "abcd"]),
        (["pattern": "^[a-z]+$"], ["abc", 1], ["", "aB", "a b", "é"]),
        (["pattern": "^(?!\\.{1,2}$)[^\\u0000-\\u001F]+$"], ["...", "ü"], ["..", "a\n"]),
        (
            ["format": "date-time"], ["2026-11-21T08:30:00.000Z", "2026-11-21T08:30:00+01:00"],
            ["2026-11-21", "2026-13-21T08:30:00Z", "now"]
        ),
    ]

    private static let structures: [Case] = [
        (["type": "object", "required": ["a"]], [["a": .null]], [[:], ["b": 1], []]),
        (
            ["properties": ["a": ["type": "integer"]], "additionalProperties": false], [[:], ["a": 1]],
            [["a": "1"], ["a": 1, "b": 1]]
        ),
        (
            ["properties": ["a": true], "additionalProperties": ["type": "string"]], [["a": 1, "b": "x"]],
            [["a": 1, "b": 1]]
        ),
        (["propertyNames": ["pattern": "^[a-z]$"]], [["a": 1]], [["A": 1], ["ab": 1]]),
        (["items": ["type": "integer"]], [[], [1, 2]], [[1, "2"], [.null]]),
        (["minItems": 1, "maxItems": 2], [[1], [1, 2]], [[], [1, 2, 3]]),
        (["items": ["properties": ["a": ["const": 1]]]], [[["a": 1]]], [[["a": 2]]]),
    ]

    private static let combinations: [Case] = [
        (["$ref": "#/components/schemas/Name"], ["abc"], [1, ""]),
        (["$ref": "#/components/schemas/a~1b"], [1], ["abc"]),
        (["$ref": "#/components/schemas/Nothing"], [], [1, "abc", [:]]),
        (["$ref": "#/components/schemas/Name", "maxLength": 3], ["abc"], ["abcd", ""]),
        (["allOf": [["minimum": 1], ["maximum": 2]]], [1, 2], [0, 3]),
        (["oneOf": [["type": "integer"], ["minimum": 5]]], [1, 5.5, "x"], [7, 1.5]),
        (["not": ["required": ["a", "b"]]], [[:], ["a": 1]], [["a": 1, "b": .null]]), (["not": false], [1, .null], []),
        (true, [1, .null], []), (false, [], [1, .null]),
    ]

    private let validator = SchemaValidator(document: [
        "components": ["schemas": ["Name": ["type": "string", "minLength": 1], "a/b": ["type": "integer"]]]
    ])

    @Test(arguments: scalars + structures + combinations)
    func `Valid values pass, and invalid ones fail`(_ schema: JSONValue, _ valid: [JSONValue], _ invalid: [JSONValue]) {
        for value in valid { #expect(validator.faults(of: value, against: schema) == [], "\(value) must be valid") }
        for value in invalid { #expect(validator.faults(of: value, against: schema) != [], "\(value) must be invalid") }
    }

    @Test func `A fault has its location`() {
        let schema: JSONValue = ["properties": ["a": ["items": ["type": "integer"]]]]
        let faults = validator.faults(of: ["a": [1, "2"]], against: schema)
        #expect(faults == [JSONFault(pointer: "/a/1", detail: "violates type \"integer\"")])
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
