import Foundation
import PushTokenRegistry

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

package final class TestTransport: Sendable {
    private let calls: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation
    private let isOffline = LockedValue(false)
    private let given = LockedValue<[[RecordedRequest]]>([])

    package init() { (calls, continuation) = AsyncStream.makeStream() }

    package var transport: HTTPTransport {
        var transport = HTTPTransport.urlSession
        transport.send = { await self.send($0) }
        transport.submitInBackground = { requests in
            self.given.withLock { $0.append(requests.map(RecordedRequest.init)) }
        }
        return transport
    }

    private func send(_ request: URLRequest) async -> TransportResult {
        guard !isOffline.withLock({ $0 }) else { return .notSent }
        return await withCheckedContinuation { continuation.yield(Call(RecordedRequest(request), $0)) }
    }

    /// All submissions to the system. Each replaces the earlier ones.
    package var submitted: [[RecordedRequest]] { given.withLock { $0 } }

    /// Breaks the network, or restores it.
    package func setOffline(_ isOffline: Bool = true) { self.isOffline.withLock { $0 = isOffline } }

    package func next() async -> Call {
        for await call in calls { return call }
        fatalError("the network has gone")
    }

    /// The next requests, sorted by path.
    package func next(_ count: Int) async -> [Call] {
        var calls: [Call] = []
        for _ in 0..<count { calls.append(await next()) }
        return calls.sorted { $0.path < $1.path }
    }

    /// A request that waits for the test's response. When it is released, it ends without one.
    package final class Call: Sendable {
        package let request: RecordedRequest
        private let answer: LockedValue<CheckedContinuation<TransportResult, Never>?>

        package init(_ request: RecordedRequest, _ continuation: CheckedContinuation<TransportResult, Never>) {
            self.request = request
            answer = LockedValue(continuation)
        }

        deinit { end(.noResponse) }

        package func answer(_ answer: TransportResponse) { end(answer.result) }
        package func fail() { end(.noResponse) }

        private func end(_ result: TransportResult) {
            let continuation = answer.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: result)
        }

        /// The method, and the path below `/v1/apps/com.example.food/sandbox`.
        package var path: String {
            let base = "/v1/apps/com.example.food/sandbox"
            return "\(request.method) \(request.url.path.replacingOccurrences(of: base, with: ""))"
        }

        package var credential: String? {
            request.fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) }
        }

        package subscript(name: String) -> String? { request[name] }
        package var observedAt: Timestamp? { request.observedAt }
    }
}

/// The parts of a request, for tests that do not import FoundationNetworking.
package struct RecordedRequest: Sendable {
    package let method: String
    package let url: URL
    package let fields: [String: String]
    package let body: Data?

    package init(method: String, url: URL, fields: [String: String], body: Data?) {
        (self.method, self.url, self.fields, self.body) = (method, url, fields, body)
    }

    package var urlRequest: URLRequest {
        var request = URLRequest(url: url)
        (request.httpMethod, request.httpBody, request.allHTTPHeaderFields) = (method, body, fields)
        return request
    }

    /// A text of the body or the query.
    package subscript(name: String) -> String? {
        let json = body.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
        let address = URLComponents(url: url, resolvingAgainstBaseURL: false)
        return json?[name] as? String ?? address?.queryItems?.first { $0.name == name }?.value
    }

    package var observedAt: Timestamp? { self["observedAt"].flatMap(Timestamp.init(text:)) }

    package init(_ request: URLRequest) {
        method = request.httpMethod ?? ""
        url = request.url ?? URL(fileURLWithPath: "/")
        fields = request.allHTTPHeaderFields ?? [:]
        body = request.httpBody
    }
}

/// An HTTP response as a value.
package struct TransportResponse: Sendable {
    package let status: Int
    package let fields: [String: String]
    package let body: Data

    package init(status: Int, fields: [String: String], body: Data) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    package subscript(name: String) -> String? { fields.first { $0.key.lowercased() == name.lowercased() }?.value }

    /// The response as the client receives it.
    package var result: TransportResult {
        let url = URL(fileURLWithPath: "/")
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields)
        return response.map { .response($0, body) } ?? .noResponse
    }
}

extension TransportResult {
    package var answer: TransportResponse? {
        guard case .response(let response, let body) = self else { return nil }
        let fields = response.allHeaderFields.map { ("\($0.key)", "\($0.value)") }
        return TransportResponse(status: response.statusCode, fields: Dictionary(fields) { $1 }, body: body)
    }
}

extension TransportResponse {
    /// A response of the registry.
    package static func ours(_ status: Int, _ body: String = "", fields: [String: String] = [:]) -> TransportResponse {
        let ours = ["Request-Id": "r-1", "Content-Type": "application/json"].merging(fields) { $1 }
        return TransportResponse(status: status, fields: ours, body: Data(body.utf8))
    }

    package static let registered = ours(200, #"{"activityId": "a-1", "outcome": "registered", "state": "active"}"#)

    package static func problem(_ status: Int, _ code: String, serverTime: Timestamp? = nil) -> TransportResponse {
        let time = serverTime.map { #", "serverTime": "\#($0.text)""# } ?? ""
        return ours(status, #"{"status": \#(status), "code": "\#(code)", "detail": "Because."\#(time)}"#)
    }
}
