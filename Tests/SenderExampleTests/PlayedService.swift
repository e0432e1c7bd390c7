import AsyncHTTPClient
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import PostgresDriver
import Synchronization
import TestSupport

@testable import RegistryServer

/// The real service on a real Postgres. Some of its responses are lost.
struct PlayedService: Sendable {
    static let bundleID = "com.example.food"

    /// The base URL of the app.
    let address: String
    /// The key of the sender and of the app's backend, which registers for the phones.
    let senderKey: String
    let database: TestDatabase

    static func run<Value: Sendable>(
        _ settings: [String: any Sendable] = ["name": "Food"],
        _ body: @Sendable (PlayedService) async throws -> Value
    ) async throws -> Value {
        let database = try await TestDatabase.make(maximumConnections: 16)
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.keyRate = nil
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let responder = RegistryResponder(registry: database.registry, configuration: configuration, logger: logger)
        let losing = LosingResponder(base: responder)
        return try await serve {
            try Listener(configuration, logger: logger, onServing: $0, respond: losing.respond)
        } _: { port in
            let root = "http://127.0.0.1:\(port)"
            _ = try await call(.PUT, "\(root)/v1/apps/\(bundleID)", settings, key: nil)
            let made = try await call(.POST, "\(root)/v1/apps/\(bundleID)/keys", ["role": "sender"], key: nil)
            let address = "\(root)/v1/apps/\(bundleID)/sandbox"
            return try await body(
                PlayedService(address: address, senderKey: made["key"] as? String ?? "", database: database)
            )
        }
    }

    /// - Parameter mayComeLate: whether a refusal is accepted because a newer report came first.
    @discardableResult
    func call(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [String: any Sendable]? = nil,
        mayComeLate: Bool = false
    ) async throws -> [String: Any] {
        let refusals: [UInt] = mayComeLate ? [409, 410] : []
        return try await Self.call(method, "\(address)/\(path)", body, key: senderKey, refusals)
    }

    func reportsOfDeadTokens() async throws -> Int {
        let root = address.components(separatedBy: "/v1/")[0]
        let answer = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "\(root)/metrics"),
            timeout: .seconds(30)
        )
        let text = String(buffer: try await answer.body.collect(upTo: 10 << 20))
        return text.split(separator: "\n").filter {
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
            let names = aliases[start...].prefix(1000).map { ["kind": "liveactivityId", "value": $0] }
            let answer = try await call(.POST, "resolve", ["aliases": names])
            let activities = (answer["results"] as? [[String: Any]] ?? []).flatMap {
                $0["activities"] as? [[String: Any]] ?? []
            }
            tokens.formUnion(activities.compactMap { $0["token"] as? String })
        }
        return tokens
    }

    /// Makes a call, and repeats it once without a response, for example on a closed idle connection. All calls here
    /// are repeatable.
    private static func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        do {
            return try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        } catch { return try await HTTPClient.shared.execute(request, timeout: .seconds(30)) }
    }

    private static func call(
        _ method: HTTPMethod,
        _ url: String,
        _ body: [String: any Sendable]?,
        key: String?,
        _ refusals: [UInt] = []
    ) async throws -> [String: Any] {
        var request = HTTPClientRequest(url: url)
        request.method = method
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(try JSONSerialization.data(withJSONObject: body))
        }
        let answer = try await execute(request)
        let bytes = Data((try await answer.body.collect(upTo: 10 << 20)).readableBytesView)
        guard (200..<300).contains(answer.status.code) || refusals.contains(answer.status.code) else {
            throw UnexpectedResponse(
                description: "\(method) \(url): \(answer.status) \(String(decoding: bytes, as: UTF8.self))"
            )
        }
        return bytes.isEmpty ? [:] : try JSONSerialization.jsonObject(with: bytes) as? [String: Any] ?? [:]
    }
}

struct UnexpectedResponse: Error, CustomStringConvertible {
    let description: String
}

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
