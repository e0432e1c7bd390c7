import RegistryCore
import TestSupport

@testable import RegistryServer

extension APIDocument {
    private static let methods = ["get", "put", "post", "delete", "patch", "head", "options"]

    var operations: [APIOperation] {
        (json["paths"]?.members ?? [:]).flatMap { path in
            path.value.members.filter { Self.methods.contains($0.key) }.map { method in
                APIOperation(document: self, path: path.key, method: method.key, json: method.value)
            }
        }
    }

    func operation(_ id: String) -> APIOperation? { operations.first { $0.id == id } }
}

extension APIOperation {
    var requestSchema: JSONValue? { json["requestBody"]?["content"]?["application/json"]?["schema"] }

    var documentedResponses: [DocumentedResponse] {
        responses.map { DocumentedResponse(document: document, status: $0.status, json: $0.answer) }
    }

    func response(_ status: Int) -> DocumentedResponse? { documentedResponses.first { $0.status == status } }

    /// Whether the operation needs no credentials.
    var isOpenToEveryone: Bool {
        guard case .array(let requirements)? = json["security"] else { return false }
        return requirements.isEmpty || requirements.contains { $0.members.isEmpty }
    }
}

struct DocumentedResponse: Sendable {
    let document: APIDocument
    let status: Int
    let json: JSONValue

    var headers: [JSONObject.Member] {
        (json["headers"]?.members ?? [:]).map { (key: $0.key, value: document.resolve($0.value)) }
    }

    /// The schema of a body by media type; nil if the body must be empty.
    var schemas: [String: JSONValue]? {
        guard case .object(let content)? = json["content"] else { return nil }
        return Dictionary(content.map { ($0.key, $0.value["schema"] ?? true) }) { first, _ in first }
    }

    /// The problem codes of the status; none for a success.
    var codes: [String] {
        let parts = schemas?["application/problem+json"].map(document.resolve)?["allOf"]?.elements ?? []
        return parts.flatMap { $0["properties"]?["code"]?["enum"]?.elements ?? [] }.compactMap(\.string)
    }
}

extension JSONValue {
    /// The members of an object; none of another value.
    var members: JSONObject {
        guard case .object(let object) = self else { return [:] }
        return object
    }
}
