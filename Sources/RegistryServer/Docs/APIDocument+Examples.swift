import RegistryCore

extension APIDocument {
    /// A text if the example is NDJSON.
    func example(of content: JSONValue) -> String? {
        let value = content["example"] ?? content["schema"].map(exampleValue)
        return value.map { $0.string ?? JSONLayout.text($0) }
    }

    /// The schema's own example, or one composed of its parts' examples.
    func exampleValue(_ schema: JSONValue) -> JSONValue {
        let schema = resolve(schema)
        if let own = schema.list("examples").first ?? schema["const"] ?? schema.list("enum").first { return own }
        if let choice = (schema.list("oneOf") + schema.list("allOf")).first { return exampleValue(choice) }
        switch schema["type"]?.string ?? schema.list("type").first?.string {
        case "object": return exampleObject(schema)
        case "array": return .array(schema["items"].map { [exampleValue($0)] } ?? [])
        case "integer": return schema["minimum"] ?? .integer(0)
        case "number": return .number(0.5)
        case "boolean": return .bool(true)
        default: return .string("string")
        }
    }

    private func exampleObject(_ schema: JSONValue) -> JSONValue {
        let members = schema.members("properties").map { ($0.key, exampleValue($0.value)) }
        if members.isEmpty, let names = schema["propertyNames"], let values = schema["additionalProperties"] {
            return .object([exampleValue(names).string ?? "": exampleValue(values)])
        }
        return .object(JSONObject(members))
    }
}
