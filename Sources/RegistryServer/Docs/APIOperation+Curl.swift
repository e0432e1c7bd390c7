import RegistryCore

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
