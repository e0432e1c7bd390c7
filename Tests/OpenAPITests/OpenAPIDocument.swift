import RegistryCore
import TestSupport
import WebAssets

@testable import RegistryServer

struct OpenAPIDocument: Sendable {
    let json: JSONValue
    let operations: [DocumentedOperation]

    static let embedded: OpenAPIDocument = {
        do {
            return OpenAPIDocument(try JSONParser.parse(WebAssets.openAPI))
        } catch { fatalError("openapi.json is not JSON: \(error)") }
    }()

    private static let methods = ["get", "put", "post", "delete", "patch", "head", "options"]

    init(_ json: JSONValue) {
        self.json = json
        let references = SchemaValidator(document: json)
        operations = (json["paths"]?.members ?? [:]).flatMap { path in
            path.value.members.filter { Self.methods.contains($0.key) }.map { method in
                DocumentedOperation(json: method.value, method: method.key, path: path.key, references: references)
            }
        }
    }

    func operation(_ id: String) -> DocumentedOperation? { operations.first { $0.id == id } }
}

struct DocumentedOperation: Sendable {
    let json: JSONValue
    /// In lower case, as in the document.
    let method: String
    let path: String
    fileprivate let references: SchemaValidator
    var id: String { json["operationId"]?.string ?? "" }
    var roles: [String] { json["x-roles"]?.elements.compactMap(\.string) ?? [] }
    var parameters: [JSONValue] { (json["parameters"]?.elements ?? []).map(follow) }
    var requestSchema: JSONValue? { json["requestBody"]?["content"]?["application/json"]?["schema"] }

    var responses: [DocumentedResponse] {
        (json["responses"]?.members ?? [:]).map { member in
            DocumentedResponse(
                json: follow(member.value),
                reference: member.value["$ref"]?.string,
                status: Int(member.key) ?? 0,
                references: references
            )
        }
    }

    func response(_ status: Int) -> DocumentedResponse? { responses.first { $0.status == status } }

    /// Whether the operation needs no credentials.
    var isOpenToEveryone: Bool {
        guard case .array(let requirements)? = json["security"] else { return false }
        return requirements.isEmpty || requirements.contains { $0.members.isEmpty }
    }

    private func follow(_ value: JSONValue) -> JSONValue { value["$ref"]?.string.map(references.resolve) ?? value }
}

struct DocumentedResponse: Sendable {
    let json: JSONValue
    let reference: String?
    let status: Int
    fileprivate let references: SchemaValidator

    var headers: [JSONObject.Member] {
        (json["headers"]?.members ?? [:]).map { header in
            (key: header.key, value: header.value["$ref"]?.string.map(references.resolve) ?? header.value)
        }
    }

    /// The schema of a body by media type; nil if the body must be empty.
    var schemas: [String: JSONValue]? {
        guard case .object(let content)? = json["content"] else { return nil }
        return Dictionary(content.map { ($0.key, $0.value["schema"] ?? true) }) { first, _ in first }
    }

    /// The problem codes of the status; none for a success.
    var codes: [String] {
        let schema = schemas?["application/problem+json"]?["$ref"]?.string.map(references.resolve)
        let parts = schema?["allOf"]?.elements ?? []
        return parts.flatMap { $0["properties"]?["code"]?["enum"]?.elements ?? [] }.compactMap(\.string)
    }
}
