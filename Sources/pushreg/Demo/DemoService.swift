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
        let body: JSONValue
    }

    @discardableResult
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
        try Output.results.line(paint("  → \(method) \(path)", "36") + (body.map { " \(Self.shortened($0))" } ?? ""))
        let reply = try await send(method, path, body)
        let colour = reply.status < 300 ? "32" : "33"
        let answer = reply.body.isNull ? "" : " \(Self.shortened(reply.body))"
        try Output.results.line(paint("  ← \(reply.status)", colour) + answer)
        return reply
    }

    func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
        var request = HTTPClientRequest(url: base + path)
        request.method = .RAW(value: method)
        authorize(&request)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.jsonBytes))
        }
        return try await explaining {
            let response = try await execute(request, timeout: .seconds(30))
            let bytes = try await response.body.collect(upTo: 1 << 22)
            let json = try? JSONParser.parse(bytes.readableBytesView)
            return Reply(status: Int(response.status.code), body: json ?? .null)
        }
    }

    func stream(_ path: String) async throws -> (lines: Int, last: JSONValue) {
        try Output.results.line(paint("  → GET \(path)", "36") + "  Accept: application/x-ndjson")
        var request = HTTPClientRequest(url: base + path)
        request.headers.add(name: "Accept", value: "application/x-ndjson")
        authorize(&request)
        return try await explaining { try await Self.read(execute(request, timeout: .seconds(60))) }
    }

    private static func read(_ response: HTTPClientResponse) async throws -> (lines: Int, last: JSONValue) {
        var (lines, line, last) = (0, [UInt8](), [UInt8]())
        for try await chunk in response.body {
            for byte in chunk.readableBytesView {
                guard byte == 0x0A else {
                    line.append(byte)
                    continue
                }
                lines += 1
                last = line
                line.removeAll(keepingCapacity: true)
            }
        }
        return (lines, (try? JSONParser.parse(last)) ?? .null)
    }

    /// Retries after a 503, which is always safe (R1).
    private func execute(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        var response = try await client.execute(request, timeout: timeout)
        for _ in 0..<Self.repetitions where response.status == .serviceUnavailable {
            try await Task.sleep(for: .seconds(1))
            response = try await client.execute(request, timeout: timeout)
        }
        switch response.status {
        case .serviceUnavailable:
            throw CommandFailure(
                .unavailable,
                "The service at \(base) has no database: it keeps responding with 503."
            )
        case .unauthorized, .forbidden:
            throw CommandFailure(
                .notPermitted,
                "The service at \(base) must run with --insecure-no-auth, or PUSHREG_KEY must be an admin key of com.example.food."
            )
        default: return response
        }
    }

    private func explaining<Value>(_ call: () async throws -> Value) async throws -> Value {
        do {
            return try await call()
        } catch let failure as CommandFailure {
            throw failure
        } catch let error where !Task.isCancelled {
            throw CommandFailure(.unavailable, "No service answers at \(base)\(Self.reason(error)).")
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

    private func authorize(_ request: inout HTTPClientRequest) {
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key.revealed)") }
    }

    private func paint(_ text: String, _ colour: String) -> String {
        Output.results.isColourful ? "\u{1B}[\(colour)m\(text)\u{1B}[0m" : text
    }

    private static func shortened(_ value: JSONValue) -> String {
        value.withShortTokens.jsonLine
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
