import RegistryCore

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

    private func faults(
        of value: JSONValue,
        keyword: JSONObject.Member,
        among keywords: JSONObject,
        at pointer: String
    ) -> [JSONFault] {
        switch keyword.key {
        case "description", "examples", "example", "default", "x-enum-varnames", "x-swift-identifiable": []
        case "$ref", "allOf", "oneOf", "not": combinationFaults(of: value, keyword, at: pointer)
        case "properties", "required", "additionalProperties", "propertyNames":
            objectFaults(of: value, keyword, among: keywords, at: pointer)
        case "items", "minItems", "maxItems": arrayFaults(of: value, keyword, at: pointer)
        default: scalarFaults(of: value, keyword, at: pointer)
        }
    }
}

extension SchemaValidator {
    private func combinationFaults(of value: JSONValue, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault]
    {
        switch (keyword.key, keyword.value) {
        case ("$ref", .string(let reference)):
            return branchFaults(of: value, against: resolve(reference), at: pointer)
        case ("allOf", .array(let schemas)):
            return schemas.flatMap { branchFaults(of: value, against: $0, at: pointer) }
        case ("oneOf", .array(let schemas)): return alternativeFaults(of: value, schemas, at: pointer)
        case ("not", .object), ("not", .bool):
            let isExcluded = branchFaults(of: value, against: keyword.value, at: pointer).isEmpty
            return isExcluded ? [JSONFault(pointer: pointer, detail: "must not match \(keyword.value)")] : []
        default: return [unsupported(keyword, at: pointer)]
        }
    }

    private func alternativeFaults(of value: JSONValue, _ schemas: [JSONValue], at pointer: String) -> [JSONFault] {
        let all = schemas.map { branchFaults(of: value, against: $0, at: pointer) }
        let matches = all.count(where: \.isEmpty)
        guard matches != 1 else { return [] }
        let count = JSONFault(pointer: pointer, detail: "matches \(matches) of \(schemas.count) alternatives")
        return [count] + (matches == 0 ? all.min { $0.count < $1.count } ?? [] : [])
    }

    func unsupported(_ keyword: JSONObject.Member, at pointer: String) -> JSONFault {
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
