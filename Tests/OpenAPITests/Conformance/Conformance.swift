import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport

@testable import RegistryServer

/// Validates responses against the document, and collects the documented ones that occurred.
struct Conformance: Sendable {
    /// A kind of response: operation, status, and the code of a problem.
    struct Outcome: Sendable, Hashable, Comparable, CustomStringConvertible {
        let operation: String
        let status: Int
        var code: String?
        var description: String { "\(operation) \(status)" + (code.map { " \($0)" } ?? "") }
        static func < (left: Outcome, right: Outcome) -> Bool { left.description < right.description }
    }

    let document: APIDocument
    private(set) var given: Set<Outcome> = []

    init(_ document: APIDocument) { self.document = document }

    var documented: Set<Outcome> {
        Set(
            document.operations.flatMap { operation in
                operation.documentedResponses.flatMap { Self.outcomes($0, of: operation.id) }
            }
        )
    }

    private static func outcomes(_ response: DocumentedResponse, of operation: String) -> [Outcome] {
        guard response.status >= 400 else { return [Outcome(operation: operation, status: response.status)] }
        return response.codes.map { Outcome(operation: operation, status: response.status, code: $0) }
    }

    /// Notes a response and returns its differences from the document.
    mutating func check(_ reply: Reply, of operation: String) -> [String] {
        guard let response = document.operation(operation)?.response(reply.status) else {
            return ["the status \(reply.status) is not documented"]
        }
        do {
            let values = response.schemas == nil ? [] : try reply.values()
            let code = reply.status >= 400 ? values.first?["code"]?.string : nil
            given.insert(Outcome(operation: operation, status: reply.status, code: code))
            return fieldFaults(reply, response) + bodyFaults(reply, values, response) + problemFaults(reply, values)
        } catch { return ["the body is not JSON: \(error)"] }
    }

    private func fieldFaults(_ reply: Reply, _ response: DocumentedResponse) -> [String] {
        response.headers.flatMap { header in
            guard let name = HTTPField.Name(header.key), let value = reply.fields[name] else {
                return ["the header \(header.key) is missing"]
            }
            let schema = header.value["schema"] ?? true
            let isNumber = schema["type"] == "integer"
            let json = isNumber ? Int64(value).map { JSONValue.integer($0) } ?? .string(value) : .string(value)
            return faults(of: json, against: schema).map { "the header \(header.key) \($0.detail): \(value)" }
        }
    }

    private func bodyFaults(_ reply: Reply, _ values: [JSONValue], _ response: DocumentedResponse) -> [String] {
        guard let schemas = response.schemas else { return reply.body.isEmpty ? [] : ["the body is not empty"] }
        guard let mediaType = reply.mediaType, let schema = schemas[mediaType] else {
            return ["the media type \(reply.mediaType ?? "none") is not documented"]
        }
        return values.flatMap { faults(of: $0, against: schema) }.map { "\($0.pointer) \($0.detail)" }
    }

    /// Errors that a schema cannot express: a problem's parts must agree with each other.
    private func problemFaults(_ reply: Reply, _ values: [JSONValue]) -> [String] {
        guard reply.status >= 400, let problem = values.first else { return [] }
        let code = problem["code"]?.string ?? ""
        let expected: [(String, JSONValue?)] = [
            ("type", .string("urn:push-token-registry:problem:\(code)")),
            ("title", Problem.Code(rawValue: code).map { .string($0.title) }),
            ("requestId", reply.fields[HTTPField.Name("Request-Id")!].map { .string($0) }),
        ]
        return expected.filter { problem[$0.0] != $0.1 }.map { "\($0.0) is not \($0.1.map(\.description) ?? "known")" }
    }

    private func faults(of value: JSONValue, against schema: JSONValue) -> [JSONFault] {
        SchemaValidator(document: document.json, refusesUndocumented: true).faults(of: value, against: schema)
    }
}

struct ConformanceServer: Sendable {
    private let port: Int

    static func run<Value: Sendable>(
        _ registry: Registry,
        keyRate: RateLimit? = nil,
        sweepInterval: Duration = .seconds(60),
        _ body: @escaping @Sendable (ConformanceServer) async throws -> Value
    ) async throws -> Value {
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.keyRate = keyRate
        configuration.sweepInterval = sweepInterval
        return try await serve {
            try Server(registry: registry, configuration: configuration, logger: .silent, onServing: $0)
        } _: {
            try await body(ConformanceServer(port: $0))
        }
    }

    /// Sends a request on a new connection, because some responses close theirs.
    func send(_ message: Message) async throws -> Reply {
        let (method, target, authority) = (message.method, message.target, message.authority)
        return try await Reply.to(method, target, authority: authority, message.fields, message.body, port: port)
    }
}
