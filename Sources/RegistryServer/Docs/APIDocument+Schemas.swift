import RegistryCore

extension APIDocument {
    /// Such as “array of Alias, at most 100 elements”.
    func type(_ schema: JSONValue) -> String { ([name(schema)] + limits(schema)).joined(separator: ", ") }

    /// One row per member. Unnamed inner objects are flattened.
    func members(of schema: JSONValue, below prefix: String = "") -> [TemplateContext] {
        let schema = resolve(schema)
        let parts = [schema] + schema.list("allOf").map(resolve)
        let required = Set(parts.flatMap { $0.list("required") }.compactMap(\.string))
        // The last part with a member describes it.
        let members = JSONObject(parts.flatMap { $0.members("properties") }.map { ($0.key, $0.value) })
        return members.flatMap { name, member in
            let words = resolve(member).text("description")
            return [row(prefix + name, member, isRequired: required.contains(name), words)]
                + innerMembers(of: member, below: prefix + name)
        }
    }

    private func innerMembers(of member: JSONValue, below name: String) -> [TemplateContext] {
        if let items = member["items"], items["properties"] != nil { return members(of: items, below: name + "[].") }
        let object = ([member] + member.list("oneOf")).first { $0["properties"] != nil }
        return object.map { members(of: $0, below: name + ".") } ?? []
    }

    func row(_ name: String, _ schema: JSONValue, isRequired: Bool, _ words: String) -> TemplateContext {
        [
            "memberName": .text(name), "memberType": .text(type(schema)), "isRequired": .flag(isRequired),
            "memberWords": .text(Prose.line(words)),
        ]
    }

    private func name(_ schema: JSONValue) -> String {
        if let name = schema["$ref"]?.string?.split(separator: "/").last {
            return "<a href=\"\(DocsPage.schemasPath)#\(name)\">\(name)</a>"
        }
        let values = schema["const"].map { [$0] } ?? schema.list("enum")
        let types = schema["type"]?.string.map { [$0] } ?? schema.list("type").compactMap(\.string)
        let choices = values.map(Self.code) + schema.list("oneOf").map(name)
        let all = choices.isEmpty ? types.map { typeName($0, schema) } : choices
        return all.isEmpty ? "anything" : all.joined(separator: " or ")
    }

    private func typeName(_ type: String, _ schema: JSONValue) -> String {
        if type == "array" { return "array of \(schema["items"].map(name) ?? "anything")" }
        guard type == "object", let values = schema["additionalProperties"], !values.members.isEmpty else {
            return type
        }
        return "object of \(name(values)), by \(schema["propertyNames"].map(name) ?? "name")"
    }

    private func limits(_ schema: JSONValue) -> [String] {
        let schema = schema.list("oneOf").first { $0["type"] != "null" && $0["$ref"] == nil } ?? schema
        var limits = [
            Self.range(schema["minLength"], schema["maxLength"], " characters"),
            Self.range(schema["minimum"], schema["maximum"], ""),
            Self.range(schema["minItems"], schema["maxItems"], " elements"),
            Self.range(schema["minProperties"], schema["maxProperties"], " members"),
        ].compactMap(\.self)
        if let pattern = schema["pattern"]?.string { limits.append("matches <code>\(HTML.escape(pattern))</code>") }
        if let value = schema["default"] { limits.append("\(Self.code(value)) by default") }
        return limits
    }

    private static func range(_ least: JSONValue?, _ most: JSONValue?, _ unit: String) -> String? {
        switch (least, most) {
        case (nil, nil): nil
        case (let least?, nil): "at least \(least)\(unit)"
        case (nil, let most?): "at most \(most)\(unit)"
        case (let least?, let most?): least == most ? "\(least)\(unit)" : "\(least) to \(most)\(unit)"
        }
    }

    private static func code(_ value: JSONValue) -> String { "<code>\(HTML.escape(value.description))</code>" }
}
