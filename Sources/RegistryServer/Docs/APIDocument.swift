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

    /// The target of a reference, or the value itself. Members beside a reference take the place of the target's.
    func resolve(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.string else { return value }
        let target = reference.dropFirst(2).split(separator: "/").reduce(json) { $0[String($1)] ?? .null }
        guard case .object(var members) = resolve(target), case .object(let beside) = value else { return target }
        for (key, value) in beside where key != "$ref" { members[key] = value }
        return .object(members)
    }

    /// The name of the schema that a reference leads to.
    static func schemaName(_ value: JSONValue) -> String? {
        value["$ref"]?.string.flatMap { $0.split(separator: "/").last }.map(String.init)
    }

    /// The operations of a tag, in the order of the document.
    func operations(of tag: String) -> [APIOperation] {
        (json["paths"]?.members ?? []).flatMap { path, item in
            item.members.filter { $0.value["tags"]?.list.first?.string == tag }
                .map { APIOperation(document: self, path: path, method: $0.key, json: $0.value) }
        }
    }

    var schemas: [JSONObject.Member] {
        (json["components"]?["schemas"]?.members ?? []).sorted { $0.key < $1.key }
    }
}

extension JSONValue {
    /// The elements of an array; none of anything else.
    var list: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The members of an object, in their order; none of anything else.
    var members: [JSONObject.Member] {
        guard case .object(let object) = self else { return [] }
        return Array(object)
    }
}
