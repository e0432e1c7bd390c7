import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import RegistryCore

/// One call of the HTTP API.
struct DemoCall: Sendable {
    let method: HTTPMethod
    let path: String
    var body: JSONObject?
}

/// What the service answered.
struct DemoAnswer: Sendable {
    let status: HTTPResponseStatus
    /// Nil when there is none, or it is no JSON.
    let body: JSONValue?
}

/// Speaks to the service, and counts on nothing but HTTP.
struct DemoClient: Sendable {
    /// Such as `http://127.0.0.1:8080`, without a slash at its end.
    let address: String
    let http: HTTPClient

    private static let timeout = TimeAmount.seconds(30)
    private static let largestAnswer = 4 * 1024 * 1024

    /// Makes a call.
    ///
    /// - Throws: a ``CommandFailure`` when nobody answers.
    func send(_ call: DemoCall) async throws -> DemoAnswer {
        let response = try await execute(call, accepting: "application/json")
        let bytes = try await response.body.collect(upTo: Self.largestAnswer)
        return DemoAnswer(status: response.status, body: try? JSONParser.parse(String(buffer: bytes)))
    }

    /// Makes a call whose answer is NDJSON, and gives each line as it comes.
    ///
    /// - Throws: a ``CommandFailure`` when nobody answers or a line is no JSON, and what `body` throws.
    func stream(_ call: DemoCall, _ body: (JSONValue) throws -> Void) async throws -> HTTPResponseStatus {
        let response = try await execute(call, accepting: "application/x-ndjson")
        var rest = ByteBuffer()
        for try await var part in response.body {
            rest.writeBuffer(&part)
            while let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest.readString(length: end - rest.readerIndex) ?? ""
                rest.moveReaderIndex(forwardBy: 1)
                try body(Self.parse(line))
            }
            rest.discardReadBytes()
        }
        if rest.readableBytes > 0 { try body(Self.parse(String(buffer: rest))) }
        return response.status
    }

    private func execute(_ call: DemoCall, accepting type: String) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: address + call.path)
        request.method = call.method
        request.headers.add(name: "Accept", value: type)
        if let body = call.body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(body.jsonBytes)
        }
        do {
            return try await http.execute(request, timeout: Self.timeout)
        } catch let error where !(error is CancellationError) {
            throw CommandFailure(.unavailable, "No service answers at \(address): \(error).")
        }
    }

    private static func parse(_ line: String) throws(CommandFailure) -> JSONValue {
        do {
            return try JSONParser.parse(line)
        } catch {
            throw CommandFailure(.failed, "The service sent a line that is no JSON: \(error.detail).")
        }
    }
}
