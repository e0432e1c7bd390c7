import Foundation
import HTTPTypes
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport

@testable import RegistryServer

/// The real service on a real Postgres. Some of its responses are lost.
struct PlayedService: Sendable {
    static let bundleID = "com.example.food"
    private static let scope = "/v1/apps/\(bundleID)/sandbox"
    private let port: Int
    /// The key of the sender and of the app's backend, which registers for the phones.
    let senderKey: String
    let database: TestDatabase

    /// The base URL of the app.
    var address: String { "http://127.0.0.1:\(port)\(Self.scope)" }

    static func run<Value: Sendable>(
        activityLifetime: Duration? = nil,
        _ body: @Sendable (PlayedService) async throws -> Value
    ) async throws -> Value {
        let database = try await TestDatabase.make(maximumConnections: 16)
        var settings = AppChanges()
        settings.activityLifetime = activityLifetime
        let app = try await database.scope(bundleID, .sandbox, settings).app
        let key = try await database.registry.makeKey(.sender, of: app).text.revealed
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.keyRate = nil
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let responder = RegistryResponder(registry: database.registry, configuration: configuration, logger: logger)
        let losing = LosingResponder(base: responder)
        return try await serve {
            try Listener(configuration, logger: logger, onServing: $0, respond: losing.respond)
        } _: { port in
            try await body(PlayedService(port: port, senderKey: key, database: database))
        }
    }

    /// - Parameter mayComeLate: whether a refusal is accepted because a newer report came first.
    @discardableResult
    func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: JSONValue? = nil,
        mayComeLate: Bool = false
    ) async throws -> JSONValue {
        let fields: HTTPFields = [.authorization: "Bearer \(senderKey)", .contentType: "application/json"]
        let reply = try await Reply.to(method, "\(Self.scope)/\(path)", fields, body?.jsonBytes, port: port)
        guard reply.status < 300 || mayComeLate && [409, 410].contains(reply.status) else {
            throw UnexpectedResponse(description: "\(method) \(path): \(reply.status) \(reply.text)")
        }
        return reply.body.isEmpty ? .null : try JSONParser.parse(reply.body)
    }

    func reportsOfDeadTokens() async throws -> Int {
        let metrics = try await Reply.to(.get, "/metrics", port: port).text
        return metrics.split(separator: "\n").filter {
            $0.hasPrefix("pushreg_feedback_total{") && $0.contains("\"Unregistered\"")
        }.reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
    }

    /// The time of each stored death, by the fingerprint of the token.
    func dropTimes() async throws -> [String: Date] {
        try await database.pool.withSession { session in
            let dropped = try session.pipeline([
                """
                SELECT encode(token_fingerprint, 'hex'), (extract(epoch FROM min(recorded_at)) * 1000)::bigint
                FROM events WHERE type = 'dropped' GROUP BY token_fingerprint
                """
            ])[0]
            let times = try dropped.decode(String.self, Int.self).map {
                ($0, Date(timeIntervalSince1970: Double($1) / 1000))
            }
            return Dictionary(uniqueKeysWithValues: times)
        }
    }

    func tokens(under aliases: [String]) async throws -> Set<String> {
        var tokens: Set<String> = []
        // The maximum per request.
        for start in stride(from: 0, to: aliases.count, by: 1000) {
            let names = aliases[start...].prefix(1000).map { alias -> JSONValue in
                ["kind": "liveactivityId", "value": .string(alias)]
            }
            let results = try await call(.post, "resolve", ["aliases": .array(names)])["results"] ?? .null
            tokens.formUnion(results.all("activities").flatMap { $0.all("token") }.compactMap(\.string))
        }
        return tokens
    }
}

struct UnexpectedResponse: Error, CustomStringConvertible { let description: String }

/// Makes every 20th committed plan look as if Postgres had failed, so that the sender must repeat the same bytes.
private final class LosingResponder: Sendable {
    private let base: RegistryResponder
    private let plans = Atomic(0)

    init(base: RegistryResponder) { self.base = base }

    @Sendable func respond(to request: Request) async -> Response? {
        let response = await base.respond(to: request)
        let isPlan = request.head.path?.hasSuffix("/plan") == true
        guard isPlan, plans.add(1, ordering: .relaxed).newValue % 20 == 0 else { return response }
        return Response(status: .serviceUnavailable, body: .bytes(Array("{}".utf8)))
    }
}
