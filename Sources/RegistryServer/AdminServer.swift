import HTTPTypes
import Logging
import NIOCore
import RegistryStore
import ServiceLifecycle

/// The operator's port: metrics and probes, for everyone who can reach it.
struct AdminServer: Service {
    private let listener: Listener

    /// The limit of one address other than loopback, which leaves room for others.
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
        // The system's limit of open files was raised for the service's own port.
        configuration.limits.connections = min(service.limits.connections, ServerConfiguration.Limits.adminConnections)
        configuration.limits.addressConnections = min(service.limits.addressConnections, mostOfAddress)
        // Proxies have many callers only on the service's own port.
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
    /// Without credentials: an operator who opens the port keeps it private.
    static var admin: [Route] {
        [
            .plain(.get, "/livez", for: .everyone) { $0.liveness },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness(isOpen: true) },
            .plain(.get, "/metrics", for: .everyone) { await $0.metrics.response() },
        ]
    }
}
