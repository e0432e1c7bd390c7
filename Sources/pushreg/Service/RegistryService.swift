import Logging
import NIOCore
import RegistryServer
import ServiceLifecycle
import UnixSignals

/// The service with its database, from its start to the signal that stops it.
struct RegistryService {
    let database: DatabaseSettings
    let settings: ServiceSettings

    /// How long requests in flight may go on after a signal.
    private static let gracePeriod = Duration.seconds(10)

    /// - Throws: a ``CommandFailure`` when the database or the port is not to be had.
    func runUntilSignal() async throws {
        if settings.isInsecure {
            Output.words.note(
                "WARNING: --insecure-no-auth lets everyone on this machine act as root. Never use it in production."
            )
        }
        let logger = Logger.lines(level: settings.logLevel)
        let limits = ConnectionLimits(
            maximumConnections: settings.maximumConnections,
            requestTimeout: settings.requestTimeout
        )
        let policy: SchemaPolicy = settings.migrates ? .migrate : .require
        try await database.withDatabase(policy, limits: limits, logger: logger) { database in
            try await serve(database, logger)
        }
    }

    private func serve(_ database: Database, _ logger: Logger) async throws {
        var configuration = ServerConfiguration()
        configuration.host = settings.host
        configuration.port = settings.port
        configuration.insecureNoAuth = settings.isInsecure
        configuration.allowsInternalJWKS = settings.allowsInternalJWKS
        configuration.keyRate = settings.keyRate
        configuration.addressRate = settings.addressRate
        configuration.trustedProxies = settings.trustedProxies
        let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
        let application = buildApplication(
            registry: database.registry,
            configuration: configuration,
            logger: logger,
            onServing: { logger.notice("accepting requests", metadata: ["address": "http://\(host):\($0)"]) }
        )
        var group = ServiceGroupConfiguration(
            services: [application],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = Self.gracePeriod
        do {
            try await ServiceGroup(configuration: group).run()
        } catch is CancellationError {
            // The grace period is over; what was acknowledged is committed.
        } catch let error as IOError {
            throw CommandFailure(.unavailable, "Cannot listen on \(host):\(settings.port): \(error).")
        }
    }
}
