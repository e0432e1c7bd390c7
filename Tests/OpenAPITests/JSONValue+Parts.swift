import RegistryCore

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

    /// The number of characters of a string.
    var length: Double? { text.map { Double($0.unicodeScalars.count) } }

    var elementCount: Double? {
        guard case .array(let elements) = self else { return nil }
        return Double(elements.count)
    }

    var double: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    func isOf(type name: String) -> Bool {
        switch (self, name) {
        case (.null, "null"), (.bool, "boolean"), (.string, "string"), (.array, "array"), (.object, "object"): true
        case (.integer, "integer"), (.integer, "number"), (.number, "number"): true
        case (.number(let number), "integer"): number == number.rounded()
        default: false
        }
    }
}
