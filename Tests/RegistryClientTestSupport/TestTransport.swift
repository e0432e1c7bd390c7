import Foundation

import RegistryClient

/// A network whose other end is the test.
package final class TestTransport: Transport {
    private let calls: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation
    private let isOffline = Guarded(false)
    private let given = Guarded<[[TransportRequest]]>([])

    package init() { (calls, continuation) = AsyncStream.makeStream() }

    package func send(_ request: TransportRequest) async -> TransportResult {
        guard !isOffline.withLock({ $0 }) else { return .notSent("offline") }
        return await withCheckedContinuation { continuation.yield(Call(request, $0)) }
    }

    package func handOver(_ requests: [TransportRequest]) async { given.withLock { $0.append(requests) } }

    /// All that the system was given, each time in the place of what it was given before.
    package var handedOver: [[TransportRequest]] { given.withLock { $0 } }

    /// Nobody answers from now on, or somebody does again.
    package func goesOffline(_ isOffline: Bool = true) { self.isOffline.withLock { $0 = isOffline } }

    package func next() async -> Call {
        for await call in calls { return call }
        fatalError("the network has gone")
    }

    /// So many requests, in the order of their paths.
    package func next(_ count: Int) async -> [Call] {
        var calls: [Call] = []
        for _ in 0..<count { calls.append(await next()) }
        return calls.sorted { $0.path < $1.path }
    }

    /// A request that waits for its answer; nobody answers once it is let go.
    package final class Call: Sendable {
        package let request: TransportRequest
        private let answer: Guarded<CheckedContinuation<TransportResult, Never>?>

        package init(_ request: TransportRequest, _ continuation: CheckedContinuation<TransportResult, Never>) {
            self.request = request
            answer = Guarded(continuation)
        }

        deinit { end(.noAnswer("nobody is there")) }

        package func answer(_ answer: TransportAnswer) { end(.answer(answer)) }
        package func fail() { end(.noAnswer("offline")) }

        private func end(_ result: TransportResult) {
            let continuation = answer.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: result)
        }

        /// Below `/v1/apps/com.example.food/sandbox`, with the method.
        package var path: String {
            let base = "/v1/apps/com.example.food/sandbox"
            return "\(request.method) \(request.url.path.replacingOccurrences(of: base, with: ""))"
        }

        package var credential: String? {
            request.fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) }
        }

        /// A member of the body, or a parameter of the query.
        package subscript(name: String) -> String? {
            let body = request.body.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
            let query = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems
            return body?[name] as? String ?? query?.first { $0.name == name }?.value
        }

        package var observedAt: Timestamp? { self["observedAt"].flatMap(Timestamp.init(text:)) }
    }
}
