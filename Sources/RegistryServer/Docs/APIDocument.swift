import RegistryCore
import WebAssets

struct APIDocument: Sendable {
    let json: JSONValue

    static let embedded: APIDocument = {
        guard let json = try? JSONParser.parse(WebAssets.openAPI) else {
            preconditionFailure("openapi.json is not JSON")
        }
        return APIDocument(json: json)
    }()

    /// Resolves a reference. Members next to it replace the target's members.
    func resolve(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.string else { return value }
        let target = reference.dropFirst(2).split(separator: "/").reduce(json) { $0[String($1)] ?? .null }
        guard case .object(var members) = resolve(target), case .object(let others) = value else { return target }
        for (key, value) in others where key != "$ref" { members[key] = value }
        return .object(members)
    }

    var tags: [(name: String, words: String)] { json.list("tags").map { ($0.text("name"), $0.text("description")) } }

    func operations(of tag: String) -> [APIOperation] {
        json.members("paths").flatMap { path, item in
            item.members.filter { $0.value.list("tags").first?.string == tag }
                .map { APIOperation(document: self, path: path, method: $0.key, json: $0.value) }
        }
    }

    var schemas: [JSONObject.Member] { (json["components"]?.members("schemas") ?? []).sorted { $0.key < $1.key } }
}

extension JSONValue {
    var members: [JSONObject.Member] {
        guard case .object(let object) = self else { return [] }
        return Array(object)
    }

    func members(_ key: String) -> [JSONObject.Member] { self[key]?.members ?? [] }

    func list(_ key: String) -> [JSONValue] {
        guard case .array(let elements) = self[key] else { return [] }
        return elements
    }

    func text(_ key: String) -> String { self[key]?.string ?? "" }
}

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
        ["memberName": name, "memberType": type(schema), "isRequired": isRequired, "memberWords": Prose.line(words)]
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

struct APIOperation: Sendable {
    let document: APIDocument
    let path: String
    let method: String
    let json: JSONValue

    var id: String { json.text("operationId") }
    var roles: [String] { json.list("x-roles").compactMap(\.string) }
    var parameters: [JSONValue] { json.list("parameters").map(document.resolve) }
    var requests: [JSONObject.Member] { json["requestBody"]?.members("content") ?? [] }
    var responses: [(status: Int, answer: JSONValue)] {
        json.members("responses").compactMap { key, value in Int(key).map { ($0, document.resolve(value)) } }
            .sorted { $0.status < $1.status }
    }
}

extension APIOperation {
    var fields: TemplateContext {
        [
            "operation": id, "summary": json.text("summary"), "method": method.uppercased(), "path": path,
            "roles": roles, "words": Prose.paragraphs(json.text("description")), "members": parameters.map(row),
            "requests": requests.map { body($0) }, "curl": curl,
            "answers": responses.filter { $0.status < 400 }.map(answer),
            "refusals": responses.filter { $0.status >= 400 }.map(answer),
        ]
    }

    private func row(_ parameter: JSONValue) -> TemplateContext {
        let isRequired = parameter["required"] == .bool(true)
        let schema = parameter["schema"] ?? .null
        var row = document.row(parameter.text("name"), schema, isRequired: isRequired, parameter.text("description"))
        row.add(["place": parameter.text("in")])
        return row
    }

    private func body(_ content: JSONObject.Member) -> TemplateContext {
        let schema = content.value["schema"] ?? .null
        return [
            "mediaType": content.key, "bodyType": document.type(schema), "members": document.members(of: schema),
            "example": document.example(of: content.value),
        ]
    }

    private func answer(_ response: (status: Int, answer: JSONValue)) -> TemplateContext {
        [
            "status": response.status, "answerWords": Prose.line(response.answer.text("description")),
            "bodies": response.answer.members("content").map { body($0) },
        ]
    }

    /// Expects the shell variables `service` and the key's.
    var curl: String {
        let method = method.uppercased()
        let command = method == "GET" ? "curl" : "curl -X \(method)"
        return (["\(command) \"$service\(target)\""] + headers + payload).joined(separator: " \\\n    ")
    }

    private var target: String {
        var path = path
        var query: [String] = []
        for parameter in parameters {
            let name = parameter.text("name")
            switch parameter.text("in") {
            case "path": path = path.replacing("{\(name)}", with: example(of: parameter))
            case "query" where parameter["required"] == .bool(true): query.append("\(name)=\(example(of: parameter))")
            default: break
            }
        }
        return path + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    private var headers: [String] {
        guard let role = roles.first else { return [] }
        let key = "-H \"Authorization: Bearer $\(role.uppercased())_KEY\""
        let installation = parameters.first { $0["name"] == "X-Installation-Id" }
        guard let installation, role == "client", !path.contains("{installationId}") else { return [key] }
        return [key, "-H 'X-Installation-Id: \(example(of: installation))'"]
    }

    private var payload: [String] {
        guard let (type, content) = requests.first, let example = document.example(of: content) else { return [] }
        return ["-H 'Content-Type: \(type)'", "-d '\(example.replacing("'", with: #"'\''"#))'"]
    }

    private func example(of parameter: JSONValue) -> String {
        (parameter["example"] ?? document.exampleValue(parameter["schema"] ?? .null)).string ?? ""
    }
}
