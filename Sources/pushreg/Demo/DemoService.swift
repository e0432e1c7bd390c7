import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore

/// The service as the demo calls it: each call and its answer are shown.
struct DemoService: Sendable {
    let base: String
    /// An API key; nil where the service needs none.
    var key: Secret?

    static let app = "/v1/apps/com.example.food"
    static let scope = app + "/sandbox"

    struct Reply: Sendable {
        let status: Int
        let body: JSONValue
    }

    /// Makes a call and shows it with its answer.
    @discardableResult
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
        try Output.results.line(paint("  → \(method) \(path)", "36") + (body.map { " \(Self.shortened($0))" } ?? ""))
        let reply = try await send(method, path, body)
        let colour = reply.status < 300 ? "32" : "33"
        let answer = reply.body.isNull ? "" : " \(Self.shortened(reply.body))"
        try Output.results.line(paint("  ← \(reply.status)", colour) + answer)
        return reply
    }

    /// Makes a call and shows nothing.
    func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> Reply {
        var request = HTTPClientRequest(url: base + path)
        request.method = .RAW(value: method)
        authorize(&request)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.jsonBytes))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let bytes = try await response.body.collect(upTo: 1 << 22)
        let json = try? JSONParser.parse(bytes.readableBytesView)
        return Reply(status: Int(response.status.code), body: json ?? .null)
    }

    /// Streams an alias as NDJSON: how many lines came, and the last one.
    func stream(_ path: String) async throws -> (lines: Int, last: JSONValue) {
        try Output.results.line(paint("  → GET \(path)", "36") + "  Accept: application/x-ndjson")
        var request = HTTPClientRequest(url: base + path)
        request.headers.add(name: "Accept", value: "application/x-ndjson")
        authorize(&request)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
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

    private func authorize(_ request: inout HTTPClientRequest) {
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key.revealed)") }
    }

    private func paint(_ text: String, _ colour: String) -> String {
        Output.results.isColourful ? "\u{1B}[\(colour)m\(text)\u{1B}[0m" : text
    }

    /// The JSON on one line, tokens cut to their ends.
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
