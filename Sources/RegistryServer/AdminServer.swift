import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RegistryStore
import ServiceLifecycle

/// The port for those who run the service: metrics and probes, open to all who can reach it.
struct AdminServer: Service {
    private let application: Application<RegistryResponder>

    /// Of one address other than loopback, so that there is room for the others.
    private static let mostOfAddress = 16

    init(
        _ registry: Registry,
        _ configuration: ServerConfiguration,
        metrics: ServiceMetrics,
        logger: Logger,
        onServing: @escaping @Sendable (_ port: Int) async -> Void
    ) {
        let configuration = Self.configuration(of: configuration)
        let responder = RegistryResponder(
            registry: registry,
            configuration: configuration,
            logger: logger,
            metrics: metrics,
            routes: Route.admin
        )
        application = makeApplication(
            responder: responder,
            configuration: configuration,
            logger: logger,
            onServing: onServing
        )
    }

    /// The configuration of this port: that of the service's own, but for what holds there only.
    static func configuration(of service: ServerConfiguration) -> ServerConfiguration {
        var configuration = service
        configuration.port = service.adminPort ?? 0
        configuration.tls = nil
        // Those of the service's own port are what the system's limit on open files was raised for.
        configuration.limits.connections = min(service.limits.connections, ServerConfiguration.Limits.adminConnections)
        configuration.limits.addressConnections = min(service.limits.addressConnections, mostOfAddress)
        // Proxies have many callers on the service's own port only.
        configuration.trustedProxies = []
        return configuration
    }

    /// - Throws: ``AdminPortFailure`` when the port is not to be had.
    func run() async throws {
        do {
            try await application.run()
        } catch let error as IOError {
            throw AdminPortFailure(cause: error)
        }
    }
}

/// The admin port could not be opened.
package struct AdminPortFailure: Error {
    /// The system's error.
    package let cause: IOError
}

extension Route {
    /// The routes of the admin port. They ask for no credentials: an operator who opens the port keeps it private.
    static var admin: [Route] {
        [
            .plain(.get, "/livez", for: .everyone) { $0.liveness },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness(isOpen: true) },
            .plain(.get, "/metrics", for: .everyone) { await $0.metrics.answer() },
        ]
    }
}
