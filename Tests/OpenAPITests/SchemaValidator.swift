import RegistryCore
import TestSupport

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
        guard refusesUndocumented, case .object(let object) = value, let names = documentedNames(of: schema) else {
            return faults
        }
        return faults
            + object.keys.filter { !names.contains($0) }.map {
                JSONFault(pointer: "\(pointer)/\($0)", detail: "is not documented")
            }
    }

    /// Like ``faults(of:against:)``, but without the check for undocumented members, because that needs all branches of
    /// a schema together.
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

    /// As in JSON Schema, a keyword ignores values of other types.
    private func faults(
        of value: JSONValue,
        keyword: JSONObject.Member,
        among keywords: JSONObject,
        at pointer: String
    ) -> [JSONFault] {
        switch (keyword.key, keyword.value) {
        case ("description", _), ("examples", _), ("example", _), ("default", _), ("x-enum-varnames", _),
            ("x-swift-identifiable", _):
            return []
        case ("$ref", .string(let reference)):
            return branchFaults(of: value, against: resolve(reference), at: pointer)
        case ("allOf", .array(let schemas)):
            return schemas.flatMap { branchFaults(of: value, against: $0, at: pointer) }
        case ("oneOf", .array(let schemas)): return alternativeFaults(of: value, schemas, at: pointer)
        case ("not", .object), ("not", .bool):
            let isExcluded = branchFaults(of: value, against: keyword.value, at: pointer).isEmpty
            return check(!isExcluded, "must not match \(keyword.value)", at: pointer)
        case ("properties", .object(let properties)):
            return memberFaults(of: value.members.filter { properties[$0.key] != nil }, at: pointer) { properties[$0] }
        case ("additionalProperties", let schema):
            let others = value.members.filter { keywords["properties"]?[$0.key] == nil }
            return memberFaults(of: others, at: pointer) { _ in schema }
        case ("propertyNames", let schema):
            return value.members.keys.flatMap { faults(of: .string($0), against: schema, at: "\(pointer)/\($0)") }
        case ("items", let schema):
            return value.elements.enumerated().flatMap { faults(of: $1, against: schema, at: "\(pointer)/\($0)") }
        default: return simpleFaults(of: value, keyword, at: pointer)
        }
    }
}

extension SchemaValidator {
    private func memberFaults(
        of members: [JSONObject.Member],
        at pointer: String,
        _ schema: (String) -> JSONValue?
    ) -> [JSONFault] {
        members.flatMap { member in
            faults(of: member.value, against: schema(member.key) ?? true, at: "\(pointer)/\(member.key)")
        }
    }

    private func alternativeFaults(of value: JSONValue, _ schemas: [JSONValue], at pointer: String) -> [JSONFault] {
        let all = schemas.map { branchFaults(of: value, against: $0, at: pointer) }
        let matches = all.count(where: \.isEmpty)
        guard matches != 1 else { return [] }
        let count = JSONFault(pointer: pointer, detail: "matches \(matches) of \(schemas.count) alternatives")
        return [count] + (matches == 0 ? all.min { $0.count < $1.count } ?? [] : [])
    }

    private func simpleFaults(of value: JSONValue, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault] {
        switch (keyword.key, keyword.value) {
        case ("type", .string(let name)): check(value.isOf(type: name), "must be of type \(name)", at: pointer)
        case ("type", .array(let names)):
            check(names.contains { $0.string.map(value.isOf) ?? false }, "must be one of \(names)", at: pointer)
        case ("enum", .array(let values)): check(values.contains(value), "must be one of \(values)", at: pointer)
        case ("const", let constant): check(value == constant, "must be \(constant)", at: pointer)
        case ("required", .array(let names)): missingFaults(of: value, names, at: pointer)
        case ("minimum", _), ("maximum", _): boundFaults(of: value.double, keyword, at: pointer)
        case ("minItems", _), ("maxItems", _): boundFaults(of: value.elementCount, keyword, at: pointer)
        case ("minLength", _), ("maxLength", _): boundFaults(of: value.length, keyword, at: pointer)
        case ("pattern", .string(let pattern)): patternFaults(of: value, pattern, keyword, at: pointer)
        case ("format", "date-time"):
            check(value.string.map { RFC3339.parse($0) != nil } ?? true, "must be an RFC 3339 time", at: pointer)
        default: [unsupported(keyword, at: pointer)]
        }
    }

    private func missingFaults(of value: JSONValue, _ names: [JSONValue], at pointer: String) -> [JSONFault] {
        guard case .object(let object) = value else { return [] }
        return names.filter { $0.string.map { object[$0] == nil } ?? true }
            .map { JSONFault(pointer: pointer, detail: "lacks \($0)") }
    }

    private func boundFaults(of size: Double?, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault] {
        guard let limit = keyword.value.double else { return [unsupported(keyword, at: pointer)] }
        guard let size else { return [] }
        let isValid = keyword.key.hasPrefix("min") ? size >= limit : size <= limit
        return check(isValid, "is beyond the \(keyword.key) \(keyword.value)", at: pointer)
    }

    private func patternFaults(
        of value: JSONValue,
        _ pattern: String,
        _ keyword: JSONObject.Member,
        at pointer: String
    ) -> [JSONFault] {
        guard let text = value.string else { return [] }
        guard let regex = try? Regex(pattern).matchingSemantics(.unicodeScalar) else {
            return [unsupported(keyword, at: pointer)]
        }
        return check(text.firstMatch(of: regex) != nil, "must match \(pattern)", at: pointer)
    }

    private func check(_ isValid: Bool, _ detail: String, at pointer: String) -> [JSONFault] {
        isValid ? [] : [JSONFault(pointer: pointer, detail: detail)]
    }

    private func unsupported(_ keyword: JSONObject.Member, at pointer: String) -> JSONFault {
        JSONFault(pointer: pointer, detail: "meets the unsupported keyword \(keyword.key): \(keyword.value)")
    }
}

extension SchemaValidator {
    /// The members that a schema and its branches name; nil if it allows all.
    private func documentedNames(of schema: JSONValue) -> Set<String>? {
        guard let names = names(in: schema), !names.isEmpty else { return nil }
        return names
    }

    private func names(in schema: JSONValue) -> Set<String>? {
        guard schema["additionalProperties"] == nil else { return nil }
        var names: Set<String> = []
        if case .object(let properties)? = schema["properties"] { names.formUnion(properties.keys) }
        for branch in branches(of: schema) {
            guard let more = self.names(in: branch) else { return nil }
            names.formUnion(more)
        }
        return names
    }

    private func branches(of schema: JSONValue) -> [JSONValue] {
        var branches: [JSONValue] = []
        if case .string(let reference)? = schema["$ref"] { branches.append(resolve(reference)) }
        for key in ["allOf", "oneOf"] {
            if case .array(let schemas)? = schema[key] { branches += schemas }
        }
        return branches
    }
}

extension JSONValue {
    /// The number of characters of a string.
    fileprivate var length: Double? { string.map { Double($0.unicodeScalars.count) } }

    fileprivate var elementCount: Double? { isOf(type: "array") ? Double(elements.count) : nil }

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
