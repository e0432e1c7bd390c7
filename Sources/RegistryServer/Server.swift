import Logging
import NIOCore
import RegistryStore
import ServiceLifecycle

/// The service and its ports, for `pushreg serve` and the tests.
///
/// Runs until shutdown. Then it accepts no more connections and completes the requests in flight. The caller handles
/// signals and must allow `insecureNoAuth` only on a loopback `host`.
package struct Server: Service {
    private let services: [any Service]
    private let logger: Logger

    /// - Parameters:
    ///   - logger: Receives each request at debug level, and internal errors.
    ///   - onServing: Called with the port once requests are accepted. Port 0 lets the system choose.
    package init(
        registry: Registry,
        configuration: ServerConfiguration,
        logger: Logger,
        onServing: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        onServingAdmin: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) throws {
        self.logger = logger
        let responder = RegistryResponder(registry: registry, configuration: configuration, logger: logger)
        let sweeper = Sweeper(
            registry: registry,
            interval: configuration.sweepInterval,
            logger: logger,
            metrics: responder.metrics.recorded,
            journal: responder.console.sweeps
        )
        var services: [any Service] = [sweeper, MemoryReturn()]
        if configuration.adminPort != nil {
            services.append(try AdminServer(responder, configuration, logger: logger, onServing: onServingAdmin))
        }
        // Services stop in reverse order, so the admin port answers until the last request is complete.
        services.append(try Listener(configuration, logger: logger, onServing: onServing, respond: responder.respond))
        self.services = services
    }

    package func run() async throws { try await ServiceGroup(services: services, logger: logger).run() }
}

/// The port for metrics and probes. All callers that can reach it have access.
struct AdminServer: Service {
    private let listener: Listener

    /// Excludes loopback. Leaves room for other addresses.
    private static let mostOfAddress = 16

    init(
        _ responder: RegistryResponder,
        _ configuration: ServerConfiguration,
        logger: Logger,
        onServing: @escaping @Sendable (_ port: Int) async -> Void
    ) throws {
        let (configuration, admin) = (Self.configuration(of: configuration), responder.serving(Route.admin))
        listener = try Listener(configuration, logger: logger, onServing: onServing, respond: admin.respond)
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
