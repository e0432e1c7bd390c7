import Foundation
import RegistryClient
import RegistryCore

/// The way from the demo's phone to the service: each call of the client is shown, and so is each that a tunnel swallows.
final class DemoTransport: Transport {
    /// A call of the client.
    struct Call: Sendable {
        let method: String
        let path: String
        /// Of the answer; nil when there was none.
        let status: Int?
    }

    private let service: DemoService
    private let isInTunnel = Guarded(false)
    private let calls: AsyncStream<Call>.Continuation

    init(_ service: DemoService, calls: AsyncStream<Call>.Continuation) {
        (self.service, self.calls) = (service, calls)
    }

    func tunnel(_ isInTunnel: Bool) { self.isInTunnel.withLock { $0 = isInTunnel } }

    func send(_ request: TransportRequest) async -> TransportResult {
        let path = Self.path(of: request.url)
        guard let reply = await reply(to: request, path) else {
            calls.yield(Call(method: request.method, path: path, status: nil))
            return .noAnswer("no answer")
        }
        calls.yield(Call(method: request.method, path: path, status: reply.status))
        let bytes = reply.body.isNull ? Data() : Data(reply.body.jsonBytes)
        return .answer(TransportAnswer(status: reply.status, fields: reply.fields, body: bytes))
    }

    private func reply(to request: TransportRequest, _ path: String) async -> DemoService.Reply? {
        let body = request.body.flatMap { try? JSONParser.parse($0) }
        guard isInTunnel.withLock({ $0 }) else { return try? await service.call(request.method, path, body) }
        try? service.show(request.method, path, body)
        return nil
    }

    private static func path(of url: URL) -> String {
        let parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        return (parts?.percentEncodedPath ?? "") + (parts?.percentEncodedQuery.map { "?\($0)" } ?? "")
    }
}

/// The file of the client, for as long as the demo plays.
final class DemoStorage: ReportStorage {
    private let content = Guarded<Data?>(nil)

    func change(_ decide: (StoredContent) -> StorageChange) -> Bool {
        switch decide(content.withLock { $0 }.map { .bytes($0) } ?? .none) {
        case .keep: break
        case .replace(let bytes), .setAside(let bytes): content.withLock { $0 = bytes }
        }
        return true
    }
}

/// The keychain of the demo's phone.
final class DemoKeychain: SecretStore {
    private let secret = Guarded<String?>(nil)

    func read() -> StoredSecret { secret.withLock { $0.map { .secret($0) } ?? .none } }

    func keep(_ secret: String) -> String? {
        self.secret.withLock { kept in
            kept = kept ?? secret
            return kept
        }
    }
}
