import RegistryCore

/// An example of what a schema describes: its own where it has one, else made of those of its parts.
struct SchemaExample {
    let document: APIDocument

    /// The example of a media type; a text where it is one of NDJSON.
    func text(of content: JSONValue) -> String? {
        let named = content["examples"]?.members.first?.value["value"]
        let value = content["example"] ?? named ?? content["schema"].map(value)
        return value.map { $0.string ?? JSONLayout.text($0) }
    }

    /// The example of a schema.
    func value(_ schema: JSONValue) -> JSONValue {
        let schema = document.resolve(schema)
        if let own = schema["examples"]?.list.first ?? schema["const"] ?? schema["enum"]?.list.first { return own }
        if let choice = (schema["oneOf"] ?? schema["allOf"])?.list.first { return value(choice) }
        switch schema["type"]?.string ?? schema["type"]?.list.first?.string {
        case "object": return object(schema)
        case "array": return .array(schema["items"].map { [value($0)] } ?? [])
        case "integer": return schema["minimum"] ?? .integer(0)
        case "number": return .number(0.5)
        case "boolean": return .bool(true)
        default: return .string("string")
        }
    }

    private func object(_ schema: JSONValue) -> JSONValue {
        var members = (schema["properties"]?.members ?? []).map { ($0.key, value($0.value)) }
        if members.isEmpty, let names = schema["propertyNames"], let values = schema["additionalProperties"],
            case .string(let name) = value(names)
        {
            members = [(name, value(values))]
        }
        return .object(JSONObject(members))
    }
}
