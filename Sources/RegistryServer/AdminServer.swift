import HTTPTypes
import Logging
import NIOCore
import RegistryStore
import ServiceLifecycle

/// The port for metrics and probes. All callers that can reach it have access.
struct AdminServer: Service {
    private let listener: Listener

    /// Excludes loopback. Leaves room for other addresses.
    private static let mostOfAddress = 16

    init(
        _ registry: Registry,
        _ configuration: ServerConfiguration,
        _ metrics: ServiceMetrics,
        logger: Logger,
        onServing: @escaping @Sendable (_ port: Int) async -> Void
    ) throws {
        let configuration = Self.configuration(of: configuration)
        let responder = RegistryResponder(
            registry: registry,
            configuration: configuration,
            logger: logger,
            metrics: metrics,
            routes: Route.admin
        )
        listener = try Listener(configuration, logger: logger, onServing: onServing, respond: responder.respond)
    }

    static func configuration(of service: ServerConfiguration) -> ServerConfiguration {
        var configuration = service
        configuration.port = service.adminPort ?? 0
        configuration.tls = nil
        // The limit of open files is set for the service's own port.
        configuration.limits.connections = min(service.limits.connections, ServerConfiguration.Limits.adminConnections)
        configuration.limits.addressConnections = min(service.limits.addressConnections, mostOfAddress)
        // Only on the service's own port, proxies have many callers.
        configuration.trustedProxies = []
        return configuration
    }

    func run() async throws {
        do {
            try await listener.run()
        } catch let error as IOError {
            throw AdminPortFailure(cause: error)
        }
    }
}

package struct AdminPortFailure: Error {
    package let cause: IOError
}

extension Route {
    /// Needs no credentials: an operator who opens this port restricts access to it.
    static var admin: [Route] {
        [
            .plain(.get, "/livez", for: .everyone) { $0.liveness },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness(isOpen: true) },
            .plain(.get, "/metrics", for: .everyone) { await $0.metrics.response() },
        ]
    }
}
