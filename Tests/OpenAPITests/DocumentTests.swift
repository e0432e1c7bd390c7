import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing
import WebAssets

@testable import RegistryServer

@Suite struct DocumentTests {
    private static let document = APIDocument.embedded

    @Test func `A value of up to 120 characters is on one line, and a longer one has a line for each member`() throws {
        let text = JSONLayout.text(Self.document.json, width: 120) + "\n"
        guard Array(text.utf8) != WebAssets.openAPI else { return }
        try Data(text.utf8).write(to: ProjectFiles.root.appendingPathComponent(".build/openapi.json"))
        Issue.record("openapi.json has another layout. Copy .build/openapi.json to Sources/WebAssets/openapi.json.")
    }

    @Test func `Every reference has a target, and every component is referenced`() {
        let references = Set(Self.references(in: Self.document.json))
        for reference in references {
            #expect(SchemaValidator(document: Self.document.json).resolve(reference) != .null, "no \(reference)")
        }
        for kind in Self.document.json["components"]?.members ?? [:] where kind.key != "securitySchemes" {
            for name in kind.value.members.keys {
                #expect(references.contains("#/components/\(kind.key)/\(name)"), "\(kind.key)/\(name) is not used")
            }
        }
    }

    @Test(arguments: document.operations.map(\.id))
    func `Every operation has a description, its callers, its path parameters and its responses`(id: String) throws {
        let operation = try #require(Self.document.operation(id))
        #expect(Self.document.operations.count { $0.id == id } == 1, "operation ids must be unique")
        #expect(operation.json["summary"]?.string?.isEmpty == false)
        #expect(operation.json["description"]?.string?.isEmpty == false)
        #expect(operation.json["x-roles"] != nil)
        let places = operation.path.matches(of: #/\{(\w+)\}/#).map { String($0.1) }
        let parameters = operation.parameters.filter { $0["in"]?.string == "path" }
        #expect(parameters.compactMap { $0["name"]?.string } == places)
        #expect(parameters.allSatisfy { $0["required"] == true })
        #expect(operation.responses.contains { $0.status < 300 })
        for response in operation.documentedResponses {
            let description = response.json["description"]?.string ?? ""
            #expect(!description.isEmpty)
            let names = Set(response.headers.map(\.key))
            #expect(names.isSuperset(of: ["Request-Id", "Cache-Control"]), "\(response.status)")
            #expect(response.headers.allSatisfy { $0.value["required"] == true })
            #expect(response.codes.isEmpty == (response.status < 400))
            for name in response.codes {
                #expect(Problem.Code(rawValue: name)?.status == response.status, "\(name)")
                #expect(description.contains("`\(name)`"), "\(name) is explained")
            }
        }
    }

    @Test func `Examples of schemas and responses are valid and use no undocumented member`() {
        let validator = SchemaValidator(document: Self.document.json, refusesUndocumented: true)
        let examples = Self.examples(in: Self.document.json)
        #expect(examples.count > 50)
        for (schema, example) in examples {
            #expect(validator.faults(of: example, against: schema) == [], "\(example)")
        }
    }

    /// Generators invent names for unnamed types, and other forms lead to code that does not compile or cannot express a value.
    @Test func `Objects, enums, alternatives and constants have the forms that generators understand`() {
        let schemas = Self.document.json["components"]?["schemas"]?.members ?? [:]
        #expect(Self.unnamed(in: Self.document.json["paths"] ?? .null) == [])
        for kind in Self.document.json["components"]?.members ?? [:] where kind.key != "schemas" {
            #expect(Self.unnamed(in: kind.value) == [], "\(kind.key)")
        }
        for (name, schema) in schemas {
            // A problem narrows the schema of all problems.
            let isProblem = schema["allOf"]?.elements.first == ["$ref": "#/components/schemas/Problem"]
            if !isProblem { #expect(Self.unnamed(within: schema) == [], "\(name)") }
            #expect(Self.constants(in: schema).allSatisfy { $0["type"] == "string" }, "\(name)")
        }
    }

    @Test func `Codes and titles equal the service's`() throws {
        let schemas = try #require(Self.document.json["components"]?["schemas"])
        let codes = schemas["ProblemCode"]?["enum"]?.elements.compactMap(\.string) ?? []
        let titles = schemas["ProblemTitle"]?["enum"]?.elements.compactMap(\.string) ?? []
        #expect(codes.sorted() == Problem.Code.allCases.map(\.rawValue).sorted())
        #expect(titles.sorted() == Problem.Code.allCases.map(\.title).sorted())
        let description = try #require(schemas["ProblemCode"]?["description"]?.string)
        for code in Problem.Code.allCases {
            #expect(description.contains("`\(code.rawValue)` \(code.status) \"\(code.title)\""))
        }
    }
}

extension DocumentTests {
    private static func references(in json: JSONValue) -> [String] {
        (json["$ref"]?.string.map { [$0] } ?? []) + json.elements.flatMap(references)
            + json.members.flatMap { references(in: $0.value) }
    }

    /// Schemas that generators would have to name.
    private static func unnamed(in json: JSONValue) -> [JSONValue] {
        let isNullable = json["oneOf"]?.elements.contains(["type": "null"]) == true
        let needsName = json["properties"] != nil || json["enum"] != nil || json["allOf"] != nil || json["anyOf"] != nil
        return (needsName || json["oneOf"] != nil && !isNullable ? [json] : []) + unnamed(within: json)
    }

    private static func unnamed(within json: JSONValue) -> [JSONValue] {
        json.elements.flatMap { unnamed(in: $0) }
            + json.members.filter { !$0.key.hasPrefix("example") }.flatMap { name, value in
                name == "properties" ? value.members.flatMap { unnamed(in: $0.value) } : unnamed(in: value)
            }
    }

    private static func constants(in json: JSONValue) -> [JSONValue] {
        (json["const"] == nil ? [] : [json]) + json.elements.flatMap(constants)
            + json.members.filter { !$0.key.hasPrefix("example") }.flatMap { constants(in: $0.value) }
    }

    /// A schema has a list of examples. A media type has a schema and either examples by name or one example.
    private static func examples(in json: JSONValue) -> [(schema: JSONValue, example: JSONValue)] {
        let inner = json.elements.flatMap(examples) + json.members.flatMap { examples(in: $0.value) }
        let ofSchema = json["examples"]?.elements ?? []
        guard let schema = json["schema"] else { return inner + ofSchema.map { (json, $0) } }
        let named = (json["examples"]?.members ?? [:]).compactMap { $0.value["value"] }
        return inner + (named + (json["example"].map(lines) ?? [])).map { (schema, $0) }
    }

    private static func lines(of example: JSONValue) -> [JSONValue] {
        guard let text = example.string, text.hasPrefix("{") else { return [example] }
        return text.split(separator: "\n").map { (try? JSONParser.parse(String($0))) ?? .null }
    }
}

@Suite struct RouteAgreementTests {
    private static let document = APIDocument.embedded

    @Test func `Every route is documented, and every documented operation has a route`() {
        let documented = Self.document.operations.map { "\($0.method.uppercased()) \($0.path)" }
        #expect(documented.sorted() == Route.all.map { "\($0.method.rawValue) \($0.template)" }.sorted())
    }

    @Test(arguments: document.operations.map(\.id))
    func `Route and operation have the same roles and bodies`(id: String) throws {
        let operation = try #require(Self.document.operation(id))
        let route = try #require(
            Route.all.first { $0.method.rawValue.lowercased() == operation.method && $0.template == operation.path }
        )
        #expect(operation.roles.sorted() == (route.access.roles ?? []).map(\.rawValue).sorted())
        #expect(operation.isOpenToEveryone == (route.access == .everyone))
        #expect((operation.requestSchema != nil) == (route.body != .none))
        #expect(operation.json["responses"]?["413"]?["$ref"]?.string == Self.tooLarge[route.body])
        #expect((operation.response(415) != nil) == (route.body != .none))
    }

    private static let tooLarge: [Route.Body: String] = [
        .single: "#/components/responses/BodyTooLarge", .batch: "#/components/responses/BatchTooLarge",
        .batchOrLines: "#/components/responses/BatchTooLarge",
    ]
}
