import RegistryCore

struct APIOperation: Sendable {
    let document: APIDocument
    let path: String
    let method: String
    let json: JSONValue

    var id: String { json.text("operationId") }
    /// Empty if no credentials are needed.
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
}

extension APIOperation {
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
