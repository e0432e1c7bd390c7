import HTTPTypes
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
        let metrics = ServiceMetrics(registry: registry, configuration: configuration)
        let journal = SweepJournal()
        let responder = RegistryResponder(
            registry: registry,
            configuration: configuration,
            logger: logger,
            metrics: metrics,
            sweeps: journal
        )
        let (interval, recorded) = (configuration.sweepInterval, metrics.recorded)
        var services: [any Service] = [
            Sweeper(registry: registry, interval: interval, logger: logger, metrics: recorded, journal: journal),
            MemoryReturn(),
        ]
        if configuration.adminPort != nil {
            let admin = try AdminServer(registry, configuration, metrics, logger: logger, onServing: onServingAdmin)
            services.append(admin)
        }
        // Services stop in reverse order, so the admin port answers until the last request is complete.
        services.append(
            try Listener(configuration, logger: logger, onServing: onServing, respond: responder.respond)
        )
        self.services = services
    }

    package func run() async throws {
        try await ServiceGroup(services: services, logger: logger).run()
    }
}

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
