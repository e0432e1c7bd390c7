import RegistryCore
import WebAssets

/// `openapi.json`, as the reference reads it.
struct APIDocument: Sendable {
    let json: JSONValue

    /// The document that is part of the program.
    static let embedded: APIDocument = {
        guard let json = try? JSONParser.parse(WebAssets.openAPI) else {
            preconditionFailure("openapi.json is not JSON")
        }
        return APIDocument(json: json)
    }()

    /// The target of a reference, or the value itself. Members next to a reference replace the target's.
    func resolve(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.string else { return value }
        let target = reference.dropFirst(2).split(separator: "/").reduce(json) { $0[String($1)] ?? .null }
        guard case .object(var members) = resolve(target), case .object(let others) = value else { return target }
        for (key, value) in others where key != "$ref" { members[key] = value }
        return .object(members)
    }

    /// The groups of operations, each with its description.
    var tags: [(name: String, words: String)] {
        json.list("tags").map { ($0.text("name"), $0.text("description")) }
    }

    /// The operations of a tag, in the order of the document.
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
    /// The members of an object, in their order; none of any other value.
    var members: [JSONObject.Member] {
        guard case .object(let object) = self else { return [] }
        return Array(object)
    }

    /// The members of a member that is an object.
    func members(_ key: String) -> [JSONObject.Member] { self[key]?.members ?? [] }

    /// The elements of a member that is an array.
    func list(_ key: String) -> [JSONValue] {
        guard case .array(let elements) = self[key] else { return [] }
        return elements
    }

    /// A member that is a string; empty if there is none.
    func text(_ key: String) -> String { self[key]?.string ?? "" }
}
