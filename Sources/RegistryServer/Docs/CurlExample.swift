import RegistryCore

/// A call as a line for a shell, that can be pasted where `service` and the key's variable are set.
struct CurlExample {
    let operation: APIOperation

    private var examples: SchemaExample { SchemaExample(document: operation.document) }

    var text: String {
        let method = operation.method.uppercased()
        let command = method == "GET" ? "curl" : "curl -X \(method)"
        return ([command + " \"$service\(path)\""] + fields + payload).joined(separator: " \\\n    ")
    }

    /// The path, with an example in each place, and what its query must say.
    private var path: String {
        var path = operation.path
        var query: [String] = []
        for parameter in operation.parameters {
            guard let name = parameter["name"]?.string else { continue }
            switch parameter["in"]?.string {
            case "path": path = path.replacing("{\(name)}", with: example(parameter))
            case "query" where parameter["required"] == .bool(true): query.append("\(name)=\(example(parameter))")
            default: break
            }
        }
        return path + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    private func example(_ parameter: JSONValue) -> String {
        (parameter["example"] ?? examples.value(parameter["schema"] ?? .null)).string ?? ""
    }

    private var fields: [String] {
        var fields: [String] = []
        if let role = operation.roles.first {
            fields.append("-H \"Authorization: Bearer $\(role.uppercased())_KEY\"")
        }
        let installation = operation.parameters.first { $0["name"] == "X-Installation-Id" }
        let isInPath = operation.parameters.contains { $0["name"] == "installationId" }
        if let installation, operation.roles.first == "client", !isInPath {
            fields.append("-H 'X-Installation-Id: \(example(installation))'")
        }
        return fields
    }

    private var payload: [String] {
        guard let (type, content) = operation.requests.first, let example = examples.text(of: content) else {
            return []
        }
        return ["-H 'Content-Type: \(type)'", "-d '\(example.replacing("'", with: #"'\''"#))'"]
    }
}
