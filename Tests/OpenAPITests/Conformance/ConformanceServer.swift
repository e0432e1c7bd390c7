import HTTPTypes
import Logging
import RegistryServer
import RegistryStore
import TestSupport

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
        return try await serve {
            try Server(registry: registry, configuration: configuration, logger: logger, onServing: $0)
        } _: {
            try await body(ConformanceServer(port: $0))
        }
    }

    /// Sends a request on a new connection, because some responses close theirs.
    func send(_ message: Message) async throws -> Reply {
        try await Reply.to(
            message.method,
            message.target,
            authority: message.authority,
            message.fields,
            message.body,
            port: port
        )
    }
}
