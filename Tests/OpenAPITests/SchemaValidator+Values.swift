import RegistryCore

// Keywords for objects, arrays, strings and numbers. As in JSON Schema, each ignores values of other types.

extension SchemaValidator {
    func objectFaults(
        of value: JSONValue,
        _ keyword: JSONObject.Member,
        among keywords: JSONObject,
        at pointer: String
    ) -> [JSONFault] {
        guard case .object(let object) = value else { return [] }
        switch (keyword.key, keyword.value) {
        case ("properties", .object(let properties)):
            return memberFaults(of: object.filter { properties[$0.key] != nil }, at: pointer) { properties[$0] }
        case ("additionalProperties", let schema):
            let properties = keywords["properties"]
            return memberFaults(of: object.filter { properties?[$0.key] == nil }, at: pointer) { _ in schema }
        case ("propertyNames", let schema):
            return object.keys.flatMap { faults(of: .string($0), against: schema, at: "\(pointer)/\($0)") }
        case ("required", .array(let names)):
            return names.filter { $0.text.map { object[$0] == nil } ?? true }
                .map { JSONFault(pointer: pointer, detail: "lacks \($0)") }
        default: return [unsupported(keyword, at: pointer)]
        }
    }

    private func memberFaults(
        of members: [JSONObject.Member],
        at pointer: String,
        _ schema: (String) -> JSONValue?
    ) -> [JSONFault] {
        members.flatMap { member in
            faults(of: member.value, against: schema(member.key) ?? true, at: "\(pointer)/\(member.key)")
        }
    }

    func arrayFaults(of value: JSONValue, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault] {
        guard case .array(let elements) = value else { return [] }
        switch (keyword.key, keyword.value) {
        case ("items", let schema):
            return elements.enumerated().flatMap { faults(of: $1, against: schema, at: "\(pointer)/\($0)") }
        case ("minItems", .integer(let limit)):
            return check(elements.count >= limit, "must have at least \(limit) elements", at: pointer)
        case ("maxItems", .integer(let limit)):
            return check(elements.count <= limit, "must have at most \(limit) elements", at: pointer)
        default: return [unsupported(keyword, at: pointer)]
        }
    }

    func scalarFaults(of value: JSONValue, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault] {
        switch (keyword.key, keyword.value) {
        case ("type", .string(let name)): check(value.isOf(type: name), "must be of type \(name)", at: pointer)
        case ("type", .array(let names)):
            check(names.contains { $0.text.map(value.isOf) ?? false }, "must be one of \(names)", at: pointer)
        case ("enum", .array(let values)): check(values.contains(value), "must be one of \(values)", at: pointer)
        case ("const", let constant): check(value == constant, "must be \(constant)", at: pointer)
        case ("minimum", _), ("maximum", _): numberFaults(of: value, keyword, at: pointer)
        case ("minLength", _), ("maxLength", _), ("pattern", _), ("format", _):
            textFaults(of: value, keyword, at: pointer)
        default: [unsupported(keyword, at: pointer)]
        }
    }

    private func numberFaults(of value: JSONValue, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault] {
        guard let limit = keyword.value.double else { return [unsupported(keyword, at: pointer)] }
        guard let number = value.double else { return [] }
        let isMinimum = keyword.key == "minimum"
        return check(
            isMinimum ? number >= limit : number <= limit,
            "is beyond the \(keyword.key) \(limit)",
            at: pointer
        )
    }

    private func textFaults(of value: JSONValue, _ keyword: JSONObject.Member, at pointer: String) -> [JSONFault] {
        guard let text = value.text else { return [] }
        switch (keyword.key, keyword.value) {
        case ("minLength", .integer(let limit)):
            return check(text.unicodeScalars.count >= limit, "must have at least \(limit) characters", at: pointer)
        case ("maxLength", .integer(let limit)):
            return check(text.unicodeScalars.count <= limit, "must have at most \(limit) characters", at: pointer)
        case ("pattern", .string(let pattern)):
            guard let regex = try? Regex(pattern).matchingSemantics(.unicodeScalar) else {
                return [unsupported(keyword, at: pointer)]
            }
            return check(text.firstMatch(of: regex) != nil, "must match \(pattern)", at: pointer)
        case ("format", "date-time"):
            return check(RFC3339.parse(text) != nil, "must be an RFC 3339 time", at: pointer)
        default: return [unsupported(keyword, at: pointer)]
        }
    }

    private func check(_ isValid: Bool, _ detail: String, at pointer: String) -> [JSONFault] {
        isValid ? [] : [JSONFault(pointer: pointer, detail: detail)]
    }
}

extension JSONValue {
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var elements: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    var members: JSONObject {
        guard case .object(let object) = self else { return [:] }
        return object
    }

    /// The value at a JSON Pointer without escapes.
    func value(at pointer: String) -> JSONValue? {
        pointer.split(separator: "/").reduce(JSONValue?.some(self)) { value, step in
            guard case .array(let elements)? = value else { return value?[String(step)] }
            return Int(step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        }
    }

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
