import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
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

    /// Registers a token of an activity.
    static func activity(_ id: String, _ token: Int, _ minutes: Double? = nil, _ more: JSONObject = [:]) -> Message {
        put("…/activities/" + id, Sample.registration(token, minutesAgo: minutes, more))
    }

    static func activity(_ id: String, _ token: Int, order: String) -> Message {
        activity(id, token, 1, ["aliases": ["orderId": .string(order)]])
    }

    /// Registers a token of an activity that has only a name.
    static func named(_ alias: String, _ token: Int, _ minutes: Double? = nil, _ more: JSONObject = [:]) -> Message {
        var body = more
        body["alias"] = .string(alias)
        return post("…/activities", Sample.registration(token, minutesAgo: minutes, body))
    }

    /// Registers a token of an installation. The path begins with its id.
    static func token(_ path: String, _ token: Int, _ minutes: Double? = nil) -> Message {
        put("…/installations/" + path, Sample.registration(token, minutesAgo: minutes))
    }

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

    func with(_ key: APIKey) -> Message { with("Authorization", "Bearer \(key.text.revealed)") }

    func by(user: String) -> Message {
        let token = TestIssuer.honest.token(claims: ["sub": .string(user)], at: Date())
        return with("Authorization", "Bearer \(token)")
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

/// Keys of the probes' app, one per role, and an admin's key of another app.
struct TestKeys: Sendable {
    static let shared = TestKeys()
    private let keys = Dictionary(uniqueKeysWithValues: Role.ofApps.map { ($0, APIKey(random: $0)) })
    let foreign = APIKey(random: .admin)
    private static let otherBundleID = "com.example.other"

    func key(_ role: Role) -> APIKey { keys[role] ?? foreign }

    func store(in registry: Registry) async throws {
        for (bundleID, keys) in [(Message.bundleID, Array(keys.values)), (Self.otherBundleID, [foreign])] {
            var settings = AppChanges()
            settings.jwt = TestIssuer.honest.settings
            let app = try await registry.put(settings, for: BundleID(bundleID), by: "test").app
            for key in keys {
                let request = APIKeyRequest(role: key.id.role)
                _ = try await registry.createKey(key.id, digest: key.secretDigest, request, of: app, by: "test")
            }
        }
    }
}
