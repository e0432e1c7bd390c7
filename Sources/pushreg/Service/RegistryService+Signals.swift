import Logging
import ServiceLifecycle
import UnixSignals

extension RegistryService {
    /// How long requests in flight may take to finish after a signal.
    private static let patience = Duration.seconds(10)

    /// A service that says on standard error when it is ready.
    init(database: DatabaseSettings, settings: ServiceSettings) {
        let logger = Logger.lines(level: settings.logLevel)
        self.init(database: database, settings: settings, logger: logger) { address in
            Self.announce(address, isInsecure: settings.isInsecure)
        }
    }

    /// Runs until SIGTERM or SIGINT, and then for as long as requests in flight take, up to 10 seconds.
    func runUntilSignal() async throws {
        var configuration = ServiceGroupConfiguration(
            services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = Self.patience
        try await ServiceGroup(configuration: configuration).run()
    }

    // Programs wait for the line, and people must see the warning: both are written whatever the log level.
    private static func announce(_ address: String, isInsecure: Bool) {
        let logger = Logger.lines(level: .info)
        if isInsecure {
            logger.warning("INSECURE: requests without credentials act as root; never use this for real tokens")
        }
        logger.info("accepting requests", metadata: ["addresses": .array([.string(address)])])
    }
}
