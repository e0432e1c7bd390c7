import Foundation
import Logging
import NIOCore
import RegistryServer
import RegistryStore
import ServiceLifecycle
import UnixSignals

/// The service with its database: it runs until it is told to shut down.
struct RegistryService: Service {
    let database: DatabaseSettings
    let settings: ServiceSettings
    /// The settings that the console shows.
    let inForce: [SettingInForce]

    /// How long requests in flight may go on after a signal.
    private static let gracePeriod = Duration.seconds(10)
    /// How long a connection that is kept waits for one request more after a signal.
    private static let lastRequestDeadline = Duration.milliseconds(500)

    /// Runs until SIGTERM or SIGINT. Signals count from the first moment: a Postgres that is being started is stopped too.
    ///
    /// - Throws: a ``CommandFailure`` when the database or the port is not to be had.
    func runUntilSignal() async throws {
        if settings.isInsecure {
            Output.errors.note(
                "WARNING: --insecure-no-auth lets everyone on this machine act as root. Never use it in production."
            )
        }
        var group = ServiceGroupConfiguration(
            services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: .lines(level: settings.logLevel)
        )
        group.maximumGracefulShutdownDuration = Self.gracePeriod
        do {
            try await ServiceGroup(configuration: group).run()
        } catch is CancellationError {
            // The grace period is over; what was acknowledged is committed.
        }
    }

    func run() async throws {
        let logger = Logger.lines(level: settings.logLevel)
        let limits = ConnectionLimits(
            maximumConnections: settings.maximumConnections,
            requestTimeout: settings.requestTimeout
        )
        let policy: SchemaPolicy = settings.migrates ? .migrate : .require
        let tls = try settings.tlsIdentity(logger)
        do {
            try await database.withDatabase(policy, limits: limits, logger: logger) { database in
                guard !Task.isShuttingDownGracefully else { return }
                try await checkDistribution(of: database, logger)
                try await serve(database, tls, logger)
            }
        } catch let error where Task.isShuttingDownGracefully {
            // It was told to stop, and it has: what it could not begin or finish any more is no failure.
            if !(error is CancellationError) {
                logger.warning("stopped early", metadata: ["reason": "\(CommandFailure(explaining: error).sentence)"])
            }
        }
    }

    /// Says what is wrong with the distribution over the nodes of Citus, if there is one.
    ///
    /// - Throws: ``UnsafeDurability`` of a worker.
    private func checkDistribution(of database: Database, _ logger: Logger) async throws {
        guard let distribution = try await database.registry.distributionCondition() else { return }
        if !self.database.allowsUnsafeDurability, let unsafe = distribution.workers.flatMap(\.unsafeSettings).first {
            throw unsafe
        }
        for finding in distribution.findings {
            logger.warning("\(finding.detail)", metadata: ["remedy": "\(finding.remedy)"])
        }
        guard distribution.isDistributed else { return }
        logger.info("on Citus", metadata: ["workers": "\(distribution.workers.map(\.name).joined(separator: ", "))"])
    }

    private func serve(_ database: Database, _ tls: TLSIdentity?, _ logger: Logger) async throws {
        var configuration = ServerConfiguration()
        configuration.host = settings.host
        configuration.port = settings.port
        configuration.adminPort = settings.adminPort
        configuration.version = Pushreg.version
        configuration.tls = tls
        configuration.insecureNoAuth = settings.isInsecure
        configuration.allowsInternalJWKS = settings.allowsInternalJWKS
        configuration.keyRate = settings.keyRate
        configuration.addressRate = settings.addressRate
        configuration.trustedProxies = settings.trustedProxies
        configuration.sweepInterval = settings.sweepInterval
        configuration.settingsInForce = inForce
        configuration.limits.lastRequestDeadline = Self.lastRequestDeadline
        configuration.limits.connections = OpenFiles.makeRoom(
            for: configuration.limits.connections,
            beside: settings.maximumConnections + configuration.connectionsBesideLimit
        )
        var serverLogger = logger
        // The server announces itself at level info; that line is ours, with the address.
        if logger.logLevel == .info { serverLogger.logLevel = .notice }
        let application: any Service = buildApplication(
            registry: database.registry,
            configuration: configuration,
            logger: serverLogger,
            onServing: { [settings] port in
                Self.announce(settings.address(port: port))
                if settings.isInTheClear { Self.warnOfListeners(logger) }
            },
            onServingAdmin: { [settings] port in Self.announceAdminPort(settings.place(port: port)) }
        )
        do {
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: { [notice = configuration.shutdownNotice] in
                notice.give()
            }
        } catch let error as IOError {
            throw settings.listeningFailure(error, on: settings.port, "--port")
        } catch let error as AdminPortFailure {
            throw settings.listeningFailure(error.cause, on: settings.adminPort ?? 0, "--admin-port")
        } catch is SocketAddressError.UnknownHost {
            throw CommandFailure(
                .unavailable,
                "The host \(settings.host) is unknown. --host takes an address of this machine or a name of one."
            )
        }
    }

    // Programs wait for this line, so it is written whatever the log level.
    private static func announce(_ address: String) {
        Logger.lines(level: .info).info("accepting requests", metadata: ["addresses": .array([.string(address)])])
    }

    private static func announceAdminPort(_ place: String) {
        Logger.lines(level: .info).info(
            "metrics and probes are open to whoever reaches the admin port",
            metadata: ["metrics": "http://\(place)/metrics"]
        )
    }

    private static func warnOfListeners(_ logger: Logger) {
        logger.warning(
            "others reach this address, and there is no TLS: keys and tokens travel readably",
            metadata: ["remedy": "--tls-cert and --tls-key, or a proxy that ends TLS, named by --trusted-proxies"]
        )
    }
}

extension ServiceSettings {
    fileprivate func address(port: Int) -> String { "\(tls == nil ? "http" : "https")://\(place(port: port))" }

    fileprivate func tlsIdentity(_ logger: Logger) throws(CommandFailure) -> TLSIdentity? {
        guard let tls else { return nil }
        do throws(TLSIdentity.Failure) {
            return try TLSIdentity(certificate: tls.certificate, key: tls.key, logger: logger)
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }

    fileprivate func place(port: Int) -> String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    fileprivate func listeningFailure(_ error: IOError, on port: Int, _ flag: String) -> CommandFailure {
        let place = place(port: port)
        switch error.errnoCode {
        case EADDRINUSE:
            return CommandFailure(
                .unavailable,
                "Cannot listen on \(place): another program does. Choose another \(flag)."
            )
        case EADDRNOTAVAIL:
            return CommandFailure(.unavailable, "Cannot listen on \(place): this machine has no such address.")
        case EACCES, EPERM:
            return CommandFailure(
                .notPermitted,
                "Cannot listen on \(place): this user may not. Ports below 1024 are often root's; choose another \(flag)."
            )
        default:
            return CommandFailure(
                .unavailable,
                "Cannot listen on \(place): \(String(cString: strerror(error.errnoCode)))."
            )
        }
    }
}
