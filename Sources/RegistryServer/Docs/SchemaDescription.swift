import RegistryCore

/// A schema in words: its type, with links to the schemas that it names, and what else it demands.
struct SchemaDescription {
    let document: APIDocument

    /// The type, as HTML: such as “array of Alias”.
    func type(_ schema: JSONValue) -> String {
        if let name = APIDocument.schemaName(schema) {
            return "<a href=\"\(ReferencePage.schemasPath)#\(name)\">\(name)</a>"
        }
        if let constant = schema["const"] { return Self.code(constant) }
        if let values = schema["enum"]?.list { return values.map(Self.code).joined(separator: " or ") }
        if let choices = Self.choices(schema) { return choices.map(type).joined(separator: " or ") }
        return Self.types(schema).map { word($0, schema) }.joined(separator: " or ")
    }

    private func word(_ type: String, _ schema: JSONValue) -> String {
        switch type {
        case "array": return "array of \(schema["items"].map(self.type) ?? "anything")"
        case "object":
            guard let values = schema["additionalProperties"], values["type"] != nil || !values.members.isEmpty else {
                return "object"
            }
            return "object of \(self.type(values)), by \(schema["propertyNames"].map(self.type) ?? "name")"
        default: return type
        }
    }

    /// The limits, as HTML: such as “1 to 128 characters”.
    func limits(_ schema: JSONValue) -> String {
        let schema = Self.choices(schema)?.first { $0["type"] != "null" && $0["$ref"] == nil } ?? schema
        var words = [
            range(schema, "minLength", "maxLength", "characters"), range(schema, "minimum", "maximum", ""),
            range(schema, "minItems", "maxItems", "elements"),
            range(schema, "minProperties", "maxProperties", "members"),
        ].compactMap(\.self)
        if let pattern = schema["pattern"]?.string { words.append("matches <code>\(HTML.escape(pattern))</code>") }
        if let value = schema["default"] { words.append("\(Self.code(value)) unless given") }
        return words.joined(separator: "; ")
    }

    private func range(_ schema: JSONValue, _ least: String, _ most: String, _ unit: String) -> String? {
        let unit = unit.isEmpty ? "" : " " + unit
        return switch (schema[least], schema[most]) {
        case (nil, nil): nil
        case (let least?, nil): "at least \(least)\(unit)"
        case (nil, let most?): "at most \(most)\(unit)"
        case (let least?, let most?): least == most ? "\(least)\(unit)" : "\(least) to \(most)\(unit)"
        }
    }

    private static func choices(_ schema: JSONValue) -> [JSONValue]? { schema["oneOf"]?.list }

    private static func types(_ schema: JSONValue) -> [String] {
        switch schema["type"] {
        case .string(let type): [type]
        case .array(let types): types.compactMap(\.string)
        default: ["anything"]
        }
    }

    private static func code(_ value: JSONValue) -> String { "<code>\(HTML.escape(value.description))</code>" }
}

extension SchemaDescription {
    /// The members of an object, a row each; those of objects within it that have no name of their own among them.
    func members(of schema: JSONValue, below prefix: String = "") -> [TemplateContext] {
        let schema = document.resolve(schema)
        let all = [schema] + (schema["allOf"]?.list ?? []).map(document.resolve)
        let required = Set(all.flatMap { $0["required"]?.list ?? [] }.compactMap(\.string))
        // A later part's statement about a member narrows an earlier one's.
        let members = JSONObject(all.flatMap { $0["properties"]?.members ?? [] }.map { ($0.key, $0.value) })
        return members.flatMap { name, member in
            [row(prefix + name, member, isRequired: required.contains(name))] + inner(member, below: prefix + name)
        }
    }

    private func inner(_ member: JSONValue, below name: String) -> [TemplateContext] {
        if let items = member["items"], items["properties"] != nil { return members(of: items, below: name + "[].") }
        if let choice = Self.choices(member)?.first(where: { $0["properties"] != nil }) {
            return members(of: choice, below: name + ".")
        }
        return member["properties"] == nil ? [] : members(of: member, below: name + ".")
    }

    private func row(_ name: String, _ member: JSONValue, isRequired: Bool) -> TemplateContext {
        let limits = limits(member)
        return [
            "memberName": .text(name), "memberType": .text(type(member)), "isRequired": .flag(isRequired),
            "memberLimits": .optional(limits.isEmpty ? nil : limits),
            "memberWords": .optional(document.resolve(member)["description"]?.string.map { Prose.line($0) }),
        ]
    }
}
