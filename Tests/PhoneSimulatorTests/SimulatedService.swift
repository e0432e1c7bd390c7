import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryServer
import RegistryStore
import TestSupport

/// The real service on Postgres, with an app and users with JWTs.
struct SimulatedService: Sendable {
    static let bundleID = "com.example.food"
    /// Long enough that no activity expires in a world that begins days ago.
    static let lifetime = "PT168H"
    let url: URL
    let clientKey: String
    let sender: SenderView

    static func run<Value: Sendable>(
        lifetime: String = lifetime,
        _ body: @Sendable (SimulatedService) async throws -> Value
    ) async throws -> Value {
        let database = try await TestDatabase.make(maximumConnections: 16)
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.keyRate = nil
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await serve {
            try Server(registry: database.registry, configuration: configuration, logger: logger, onServing: $0)
        } _: { port in
            let sender = SenderView(port: port)
            let app: JSONValue = [
                "name": "Food", "activityLifetime": .string(lifetime), "tombstoneRetention": "PT200H",
                "jwt": .object(TestIssuer.honest.settings),
            ]
            _ = try await sender.call(.put, "/v1/apps/\(bundleID)", app)
            let key = try await database.registry.makeKey(.client, of: database.scope(bundleID).app)
            let url = URL(string: "http://127.0.0.1:\(port)")!
            return try await body(SimulatedService(url: url, clientKey: key.text.revealed, sender: sender))
        }
    }

    /// A JWT of one of the app's users. The service checks it by the real clock.
    static func token(of user: String, isExpired: Bool = false) -> String {
        TestIssuer.honest.token(.ed, claims: ["sub": .string(user)], at: Date() - (isExpired ? 7200 : 0))
    }

    /// The user of the JWT in `Authorization`; nil without a JWT.
    static func user(of authorization: String) -> String? {
        let parts = authorization.dropFirst("Bearer ".count).split(separator: ".")
        guard parts.count == 3, let claims = Base64URL.decode(parts[1]) else { return nil }
        return try? JSONParser.parse(claims)["sub"]?.string
    }
}

/// The registry as senders see it, over HTTP.
struct SenderView: Sendable {
    let port: Int

    struct Handed: Sendable, Hashable {
        /// Nil for tokens of an installation.
        let activityID: String?
        let attributesType: String?
        /// Lower-case hex.
        let token: String
    }

    private static let base = "/v1/apps/\(SimulatedService.bundleID)/sandbox"

    func activities(under orders: [String]) async throws -> [Handed] {
        guard !orders.isEmpty else { return [] }
        let aliases = orders.map { order -> JSONValue in ["kind": "liveactivityId", "value": .string(order)] }
        let answer = try await call(.post, "\(Self.base)/resolve", ["aliases": .array(aliases)])
        let results = answer["results"]?.elements ?? []
        guard results.count == orders.count else { throw UnexpectedAnswer("resolve gave no results") }
        return results.flatMap { Self.handed($0["activities"]) }
    }

    /// The tokens of a user's installations.
    ///
    /// - Parameter list: `start-tokens`, `device-tokens` or `tokens/widget`.
    func tokens(_ list: String, ofUser user: String) async throws -> [Handed] {
        Self.handed(try await call(.get, "\(Self.base)/aliases/userId/\(user)/\(list)")["tokens"])
    }

    /// The actions for an order's activities, which are renewed some time before their end.
    func plan(_ order: String, attributesType: String, renewBefore: String) async throws -> [String] {
        let body: JSONValue = [
            "alias": ["kind": "liveactivityId", "value": .string(order)], "attributesType": .string(attributesType),
            "renewBefore": .string(renewBefore),
        ]
        let installations = try await call(.post, "\(Self.base)/plan", body)["installations"] ?? []
        return installations.all("action").compactMap(\.string)
    }

    /// A member of an activity's record, such as `token`.
    func text(_ member: String, ofActivity id: String) async throws -> String? {
        try await call(.get, "\(Self.base)/activities/\(id)")[member]?.string
    }

    private static func handed(_ list: JSONValue?) -> [Handed] {
        (list?.elements ?? []).compactMap { item in
            guard let token = item["token"]?.string else { return nil }
            let (id, type) = (item["activityId"]?.string, item["attributesType"]?.string)
            return Handed(activityID: id, attributesType: type, token: token)
        }
    }

    /// Makes a call, and repeats it while no usable response comes.
    func call(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let fields: HTTPFields = [.contentType: "application/json"]
        for _ in 0..<5 {
            let reply = try? await Reply.to(method, path, fields, body?.jsonBytes, port: port)
            guard let reply, reply.status < 429 else { continue }
            guard [200, 201, 404].contains(reply.status) else {
                throw UnexpectedAnswer("\(method) was answered with \(reply.status)")
            }
            return try JSONParser.parse(reply.body)
        }
        throw UnexpectedAnswer("\(method) was not answered")
    }
}

struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
