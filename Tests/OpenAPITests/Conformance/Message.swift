import HTTPTypes
import RegistryCore
import TestSupport

struct Message: Sendable {
    var method: HTTPRequest.Method
    /// Path and query, percent-encoded.
    var target: String
    var fields: HTTPFields = [:]
    var body: [UInt8]?
    var authority = "localhost"

    /// `…` is replaced by an existing app and environment.
    init(_ method: HTTPRequest.Method, _ target: String, _ body: JSONValue? = nil) {
        self.method = method
        self.target = target.replacing("…", with: Self.scope)
        self.body = body?.jsonBytes
        if body != nil { fields[.contentType] = "application/json" }
    }

    static let bundleID = "com.example.food"
    static let scope = "/v1/apps/\(bundleID)/sandbox"

    static func put(_ target: String, _ body: JSONValue) -> Message { Message(.put, target, body) }
    static func post(_ target: String, _ body: JSONValue? = nil) -> Message { Message(.post, target, body) }
    static func get(_ target: String) -> Message { Message(.get, target) }
    static func delete(_ target: String) -> Message { Message(.delete, target) }

    static func lines(_ target: String) -> Message { get(target).with("Accept", "application/x-ndjson") }
    static func report(_ reports: [JSONValue]) -> Message { post("…/feedback", ["reports": .array(reports)]) }

    static func resolve(_ kind: JSONValue, _ value: JSONValue) -> Message {
        post("…/resolve", ["aliases": [["kind": kind, "value": value]]])
    }

    func from(_ installation: String) -> Message { with("X-Installation-Id", installation) }

    func with(_ name: String, _ value: String) -> Message {
        var message = self
        message.fields[HTTPField.Name(name)!] = value
        return message
    }
}

extension Reply {
    var mediaType: String? { fields[.contentType]?.split(separator: ";").first.map(String.init) }

    /// The JSON of the body: one value per line for NDJSON, a string for plain text.
    func values() throws -> [JSONValue] {
        if mediaType == "text/plain" { return [.string(text)] }
        guard mediaType == "application/x-ndjson" else { return [try JSONParser.parse(body)] }
        return try text.split(separator: "\n").map { try JSONParser.parse(String($0)) }
    }
}
