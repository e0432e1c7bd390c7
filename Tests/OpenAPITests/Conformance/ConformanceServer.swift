import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import RegistryServer
import RegistryStore
import TestSupport

/// The service, running in this very process on a port of its own, without authentication.
struct ConformanceServer: Sendable {
    private let port: Int

    static func run<Value: Sendable>(
        _ registry: Registry,
        keyRate: RateLimit? = nil,
        sweepInterval: Duration = .seconds(60),
        _ body: @escaping @Sendable (ConformanceServer) async throws -> Value
    ) async throws -> Value {
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.keyRate = keyRate
        configuration.sweepInterval = sweepInterval
        let logger = Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() }
        let application = buildApplication(registry: registry, configuration: configuration, logger: logger)
        return try await application.serve { port in try await body(ConformanceServer(port: port)) }
    }

    /// Sends a request on a connection of its own, for some answers close theirs.
    func send(_ message: Message) async throws -> Reply {
        let request = TestClient.Request(
            message.target,
            method: message.method,
            authority: message.authority,
            headers: message.fields,
            body: message.body.map { ByteBuffer(bytes: $0) }
        )
        let response = try await TestClient.withClient(host: "127.0.0.1", port: port) { try await $0.execute(request) }
        let body = response.body.map { Array($0.readableBytesView) } ?? []
        return Reply(status: response.status.code, fields: response.headers, body: body)
    }
}
