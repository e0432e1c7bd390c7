import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RegistryStore
import ServiceLifecycle

/// The port for those who run the service: metrics and probes, open to whoever can reach it.
struct AdminServer: Service {
    private let application: Application<RegistryResponder>

    /// Prometheus and probes have few.
    private static let mostConnections = 64

    init(
        _ registry: Registry,
        _ configuration: ServerConfiguration,
        metrics: ServiceMetrics,
        logger: Logger,
        onServing: @escaping @Sendable (_ port: Int) async -> Void
    ) {
        var configuration = configuration
        configuration.port = configuration.adminPort ?? 0
        configuration.tls = nil
        // Those of the service's own port are what the system's limit on open files was raised for.
        configuration.limits.connections = min(configuration.limits.connections, Self.mostConnections)
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
public struct AdminPortFailure: Error {
    /// What the system said.
    public let cause: IOError
}

extension Route {
    /// What the admin port answers. It asks for no credentials: whoever opens it keeps it among his own.
    static var admin: [Route] {
        [
            .plain(.get, "/livez", for: .everyone) { _ in .livez },
            .plain(.get, "/readyz", for: .everyone) { try await $0.readiness(isOpen: true) },
            .plain(.get, "/metrics", for: .everyone) { await $0.metrics.answer() },
        ]
    }
}
