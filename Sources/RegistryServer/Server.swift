import Logging
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
        let (interval, factory) = (configuration.sweepInterval, metrics.factory)
        var services: [any Service] = [
            Sweeper(registry: registry, interval: interval, logger: logger, metrics: factory, journal: journal),
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
