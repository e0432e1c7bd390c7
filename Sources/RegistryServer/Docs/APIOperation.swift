import RegistryCore

/// One call of the API, as `openapi.json` describes it.
struct APIOperation: Sendable {
    let document: APIDocument
    let path: String
    let method: String
    let json: JSONValue

    var id: String { json["operationId"]?.string ?? "" }
    var summary: String { json["summary"]?.string ?? "" }
    /// Empty where everyone may call.
    var roles: [String] { json["x-roles"]?.list.compactMap(\.string) ?? [] }
    var parameters: [JSONValue] { (json["parameters"]?.list ?? []).map(document.resolve) }
    /// The bodies that it takes, by media type.
    var requests: [JSONObject.Member] { json["requestBody"]?["content"]?.members ?? [] }
    /// Its possible answers, by status.
    var responses: [(status: Int, answer: JSONValue)] {
        (json["responses"]?.members ?? []).compactMap { key, value in Int(key).map { ($0, document.resolve(value)) } }
            .sorted { $0.status < $1.status }
    }
}

extension APIOperation {
    /// The fields of its section.
    var fields: TemplateContext {
        var fields = heading
        fields.add([
            "words": .text(Prose.paragraphs(json["description"]?.string ?? "")),
            "parameters": .list(parameters.map(row)), "requests": .list(requests.map { body($0) }),
            "curl": .text(CurlExample(operation: self).text),
            "answers": .rows(responses.filter { $0.status < 400 }.map(answer)),
            "refusals": .list(responses.filter { $0.status >= 400 }.map(refusal)),
        ])
        return fields
    }

    /// The fields that lists of operations show of it.
    var heading: TemplateContext {
        [
            "operation": .text(id), "summary": .text(summary), "method": .text(method.uppercased()),
            "path": .text(path), "isForEveryone": .flag(roles.isEmpty),
            "roles": .rows(roles.map { ["role": .text($0)] }),
        ]
    }

    private var words: SchemaDescription { SchemaDescription(document: document) }

    private func row(_ parameter: JSONValue) -> TemplateContext {
        let schema = parameter["schema"] ?? .null
        let limits = words.limits(schema)
        return [
            "memberName": .optional(parameter["name"]?.string), "place": .optional(parameter["in"]?.string),
            "memberType": .text(words.type(schema)), "isRequired": .flag(parameter["required"] == .bool(true)),
            "memberLimits": .optional(limits.isEmpty ? nil : limits),
            "memberWords": .text(Prose.line(parameter["description"]?.string ?? "")),
        ]
    }

    /// A body of a request or an answer.
    private func body(_ content: JSONObject.Member) -> TemplateContext {
        let schema = content.value["schema"] ?? .null
        return [
            "mediaType": .text(content.key), "schemaType": .text(words.type(schema)),
            "members": .list(words.members(of: schema)),
            "example": .optional(SchemaExample(document: document).text(of: content.value)),
        ]
    }

    private func answer(_ response: (status: Int, answer: JSONValue)) -> TemplateContext {
        [
            "status": .text(String(response.status)),
            "answerWords": .text(Prose.line(response.answer["description"]?.string ?? "")),
            "bodies": .list((response.answer["content"]?.members ?? []).map { body($0) }),
        ]
    }

    private func refusal(_ response: (status: Int, answer: JSONValue)) -> TemplateContext {
        [
            "status": .text(String(response.status)),
            "answerWords": .text(Prose.line(response.answer["description"]?.string ?? "")),
        ]
    }
}
