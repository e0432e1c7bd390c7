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

    var tags: [(name: String, words: String)] {
        json.list("tags").map { ($0.text("name"), $0.text("description")) }
    }

    func operations(of tag: String) -> [APIOperation] {
        json.members("paths").flatMap { path, item in
            item.members.filter { $0.value.list("tags").first?.string == tag }
                .map { APIOperation(document: self, path: path, method: $0.key, json: $0.value) }
        }
    }

    var schemas: [JSONObject.Member] {
        (json["components"]?.members("schemas") ?? []).sorted { $0.key < $1.key }
    }
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
