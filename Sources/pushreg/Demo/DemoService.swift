import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore

/// An HTTP client that shows each call and its response.
struct DemoService: Sendable {
    let base: String
    private let key: Secret?
    private let client: HTTPClient

    static let app = "/v1/apps/com.example.food"
    static let scope = app + "/sandbox"
    /// Retries after a 503, one second apart.
    private static let repetitions = 5

    static func withService(at base: String, key: Secret?, _ body: (DemoService) async throws -> Void) async throws {
        var configuration = HTTPClient.Configuration(timeout: .init(connect: .seconds(5)))
        // Otherwise the client retries a refused connection for half a minute.
        configuration.connectionPool.retryConnectionEstablishment = false
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await body(DemoService(base: base, key: key, client: client))
        }
    }

    struct Reply: Sendable {
        let status: Int
        let bytes: ByteBuffer
        /// Null if the body is not one JSON value.
        var body: JSONValue { (try? JSONParser.parse(bytes.readableBytesView)) ?? .null }
        var lines: [ByteBufferView] { bytes.readableBytesView.split(separator: UInt8(ascii: "\n")) }
    }

    @discardableResult
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
        try Output.results.line("  → \(method) \(path)\(Self.text(body))")
        let reply = try await send(method, path, body)
        try Output.results.line("  ← \(reply.status)\(Self.text(reply.body.isNull ? nil : reply.body))")
        return reply
    }

    func stream(_ path: String) async throws -> Reply {
        try Output.results.line("  → GET \(path)  Accept: application/x-ndjson")
        return try await send("GET", path, accepting: "application/x-ndjson")
    }

    private static func text(_ body: JSONValue?) -> String { body.map { " \($0.withShortTokens.jsonLine)" } ?? "" }

    func send(
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil,
        accepting type: String? = nil
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: base + path)
        request.method = .RAW(value: method)
        if let type { request.headers.add(name: "Accept", value: type) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key.revealed)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.jsonBytes))
        }
        do {
            let response = try await execute(request)
            return Reply(status: Int(response.status.code), bytes: try await response.body.collect(upTo: 1 << 24))
        } catch let failure as CommandFailure {
            throw failure
        } catch let error where !Task.isCancelled {
            throw CommandFailure(.unavailable, "No service answers at \(base)\(Self.reason(error)).")
        }
    }

    /// Retries after a 503, which is always safe (R1).
    private func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        var response = try await client.execute(request, timeout: .seconds(60))
        for _ in 0..<Self.repetitions where response.status == .serviceUnavailable {
            try await Task.sleep(for: .seconds(1))
            response = try await client.execute(request, timeout: .seconds(60))
        }
        switch response.status {
        case .serviceUnavailable:
            throw CommandFailure(.unavailable, "The service at \(base) has no database: it keeps responding with 503.")
        case .unauthorized, .forbidden:
            throw CommandFailure(
                .notPermitted,
                "The service at \(base) must run with --insecure-no-auth, or PUSHREG_KEY must be an admin key of com.example.food."
            )
        default: return response
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: return ": " + String(cString: strerror(error.errnoCode))
        case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout: return " in time"
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            return ": the connection was closed during a response"
        default: return ""
        }
    }
}

extension JSONValue {
    fileprivate var withShortTokens: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.withShortTokens))
        case .object(let object):
            .object(
                JSONObject(
                    object.map { key, value in
                        guard key == "token", case .string(let hex) = value, hex.count > 12 else {
                            return (key, value.withShortTokens)
                        }
                        return (key, .string("\(hex.prefix(4))…\(hex.suffix(4)) (\(hex.count / 2) bytes)"))
                    }
                )
            )
        default: self
        }
    }
}
