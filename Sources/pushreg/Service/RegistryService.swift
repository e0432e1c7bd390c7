import Logging
import NIOCore
import RegistryServer
import ServiceLifecycle

/// The service as one piece: its database, and the HTTP server in front of it.
///
/// It runs until it is told to shut down; then requests in flight finish, and after them the database is closed.
struct RegistryService: Service {
    let database: DatabaseSettings
    let settings: ServiceSettings
    let logger: Logger
    /// Called once requests are accepted, with the address to send them to.
    let onServing: @Sendable (_ address: String) async -> Void

    /// - Throws: a ``CommandFailure`` when it cannot listen where it is told to, and what ``DatabaseSettings`` throws.
    func run() async throws {
        let policy: SchemaPolicy = settings.migrates ? .migrate : .require
        let limits = ConnectionLimits(
            maximumConnections: settings.maximumConnections,
            requestTimeout: settings.requestTimeout
        )
        try await database.withDatabase(policy, limits: limits, logger: logger) { database in
            try await serve(database)
        }
    }

    private func serve(_ database: Database) async throws {
        let application: any Service = buildApplication(
            registry: database.registry,
            configuration: settings.serverConfiguration,
            logger: serverLogger,
            onServing: { [onServing, settings] port in await onServing(settings.address(port: port)) }
        )
        do {
            try await application.run()
        } catch let error as IOError {
            throw settings.listeningFailure(error)
        } catch is SocketAddressError {
            throw CommandFailure(.unavailable, "The host \(settings.host) is unknown.")
        }
    }

    /// The server announces itself at level info; that line is ours, with the address.
    private var serverLogger: Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, settings.logLevel == .info ? .notice : settings.logLevel)
        return logger
    }
}

extension ServiceSettings {
    fileprivate func address(port: Int) -> String {
        host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }

    fileprivate func listeningFailure(_ error: IOError) -> CommandFailure {
        let place = address(port: port).dropFirst("http://".count)
        switch error.errnoCode {
        case EADDRINUSE:
            return CommandFailure(.unavailable, "\(place) is taken by another program; choose another --port.")
        case EACCES, EPERM:
            return CommandFailure(.notPermitted, "This user may not listen on \(place); ports below 1024 are for root.")
        case EADDRNOTAVAIL:
            return CommandFailure(.unavailable, "This machine has no address \(host); choose another --host.")
        default:
            return CommandFailure(.unavailable, "The service cannot listen on \(place): \(error).")
        }
    }
}
