import Logging
import RegistryStore
import ServiceLifecycle

/// The service behind its ports: what `pushreg serve` runs is what the tests call.
///
/// It runs until shutdown; then it accepts no more connections and lets requests in flight finish. The caller handles signals, and
/// allows `insecureNoAuth` only on a loopback `host`.
package struct Server: Service {
    private let services: [any Service]
    private let logger: Logger

    /// - Parameters:
    ///   - logger: Logs each request at debug level, and internal errors.
    ///   - onServing: Called with the port once requests are accepted; the system chooses the port if it is 0.
    ///   - onServingAdmin: Called with the admin port, if there is one.
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
        // The last one is the first to stop, so that the admin port answers until all requests are answered.
        services.append(
            try Listener(configuration, logger: logger, onServing: onServing, respond: responder.respond)
        )
        self.services = services
    }

    package func run() async throws {
        try await ServiceGroup(services: services, logger: logger).run()
    }
}
