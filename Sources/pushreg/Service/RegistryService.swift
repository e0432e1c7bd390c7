import Foundation
import Logging
import NIOCore
import NIOPosix
import RegistryServer
import RegistryStore
import ServiceLifecycle
import UnixSignals

struct RegistryService: Service {
    let database: DatabaseSettings
    let settings: ServiceSettings

    /// Runs until SIGTERM or SIGINT, which also stop a service that is still starting Postgres.
    func runUntilSignal() async throws {
        if settings.server.insecureNoAuth {
            Output.errors.note(
                "WARNING: --insecure-no-auth lets everyone on this machine act as root. Never use it in production."
            )
        }
        var group = ServiceGroupConfiguration(
            services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: .lines(level: settings.logLevel)
        )
        group.maximumGracefulShutdownDuration = .seconds(10)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch is CancellationError {
            // The grace period is over. Acknowledged writes are committed.
        }
    }

    func run() async throws {
        let logger = Logger.lines(level: settings.logLevel)
        let policy: SchemaPolicy = settings.migrates ? .migrate : .require
        let tls = try settings.tlsIdentity(logger)
        do {
            try await database.withDatabase(policy, limits: settings.connections, logger: logger) { database in
                guard !Task.isShuttingDownGracefully else { return }
                try await checkConditions(of: database, logger)
                try await serve(database, tls, logger)
            }
        } catch let error where Task.isShuttingDownGracefully {
            // Unfinished work after a shutdown signal is not a failure.
            if !(error is CancellationError) {
                let reason = CommandFailure(cause: error)?.sentence ?? "\(error)"
                logger.warning("stopped early", metadata: ["reason": "\(reason)"])
            }
        }
    }

    /// Logs findings about the distribution over Citus's nodes.
    ///
    /// - Throws: A ``CommandFailure`` for the first finding that stops the service.
    private func checkConditions(of database: Database, _ logger: Logger) async throws {
        let isAllowed: (Finding) -> Bool = { $0.code == .unsafeDurability && self.database.allowsUnsafeDurability }
        let findings = try await database.findings().filter { $0.code.stopsService && !isAllowed($0) }
        if let first = findings.first { throw CommandFailure(.unavailable, "\(first.detail) \(first.remedy)") }
        guard let distribution = try await database.registry.distributionCondition() else { return }
        for finding in distribution.findings {
            logger.warning("\(finding.detail)", metadata: ["remedy": "\(finding.remedy)"])
        }
        guard distribution.isDistributed else { return }
        logger.info("on Citus", metadata: ["workers": "\(distribution.workers.map(\.name).joined(separator: ", "))"])
    }

    private func serve(_ database: Database, _ tls: TLSIdentity?, _ logger: Logger) async throws {
        var configuration = settings.server
        configuration.tls = tls
        configuration.limits.connections = OpenFiles.makeRoom(
            for: configuration.limits.connections,
            beside: settings.connections.maximumConnections + configuration.connectionsBesideLimit
        )
        let server = try Server(
            registry: database.registry,
            configuration: configuration,
            logger: logger,
            onServing: { [settings] in settings.announce(port: $0, logger) },
            onServingAdmin: { [settings] in settings.announceAdmin(port: $0) }
        )
        try await run(server)
    }

    private func run(_ server: Server) async throws {
        do {
            try await withGracefulShutdownHandler {
                try await server.run()
            } onGracefulShutdown: { [notice = settings.server.shutdownNotice] in
                notice.give()
            }
        } catch let failure as ListenFailure {
            let flag = failure.port == settings.server.adminPort ? "--admin-port" : "--port"
            throw settings.listeningFailure(failure.cause, on: failure.port, flag) ?? failure.cause
        }
    }
}

extension ServiceSettings {
    func tlsIdentity(_ logger: Logger) throws(CommandFailure) -> TLSIdentity? {
        guard let tls else { return nil }
        do throws(TLSIdentity.Failure) {
            return try TLSIdentity(certificate: tls.certificate, key: tls.key, logger: logger)
        } catch { throw CommandFailure(.usage, error.description) }
    }

    // Programs wait for these lines, so they ignore the log level.
    fileprivate func announce(port: Int, _ logger: Logger) {
        let address = "\(tls == nil ? "http" : "https")://\(place(port: port))"
        Logger.lines(level: .info).info("accepting requests", metadata: ["addresses": .array([.string(address)])])
        guard isInTheClear else { return }
        logger.warning(
            "other machines reach this address without TLS, so keys and tokens are not encrypted",
            metadata: ["remedy": "--tls-cert and --tls-key, or --trusted-proxies with a proxy that ends TLS"]
        )
    }

    fileprivate func announceAdmin(port: Int) {
        Logger.lines(level: .info).info(
            "metrics and probes on the admin port need no credentials",
            metadata: ["metrics": "http://\(place(port: port))/metrics"]
        )
    }

    private func place(port: Int) -> String {
        server.host.contains(":") ? "[\(server.host)]:\(port)" : "\(server.host):\(port)"
    }

    /// Why the service cannot listen; nil if it can, or if a program, such as the service, already listens there.
    func listeningFailure() async -> CommandFailure? {
        for (port, flag) in [(server.port, "--port"), (server.adminPort, "--admin-port")] {
            guard let port else { continue }
            do {
                let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                try await bootstrap.bind(host: server.host, port: port).get().close()
            } catch let error as IOError where error.errnoCode == EADDRINUSE {
                continue
            } catch { return listeningFailure(error, on: port, flag) }
        }
        return nil
    }

    fileprivate func listeningFailure(_ error: any Error, on port: Int, _ flag: String) -> CommandFailure? {
        if error is SocketAddressError.UnknownHost {
            return CommandFailure(
                .unavailable,
                "The host \(server.host) is unknown. Give --host an address or name of this machine."
            )
        }
        guard let error = error as? IOError else { return nil }
        let fault = "Cannot listen on \(place(port: port)):"
        return switch error.errnoCode {
        case EADDRINUSE: CommandFailure(.unavailable, "\(fault) another program uses it. Choose another \(flag).")
        case EADDRNOTAVAIL: CommandFailure(.unavailable, "\(fault) this machine has no such address.")
        case EACCES, EPERM:
            CommandFailure(
                .notPermitted,
                "\(fault) this user is not permitted. Ports below 1024 often need root; choose another \(flag)."
            )
        default: CommandFailure(.unavailable, "\(fault) \(String(cString: strerror(error.errnoCode))).")
        }
    }
}

extension Database {
    /// Findings that stop `serve` are first. `serve` reports the first one, `doctor` all.
    func findings() async throws -> [Finding] {
        // First, because its errors name the cause if Postgres does not answer.
        let schema = try await finding { try await migrator.checkCompatible() }
        let condition: DatabaseCondition
        do {
            condition = try await registry.databaseCondition()
        } catch {
            guard let pooler = try await finding(pool.refuseSharedSessions) else { throw error }
            return [pooler]
        }
        // With such a pooler, no other result is reliable.
        if let pooler = try await finding(pool.refuseSharedSessions) { return [pooler] }
        let right = schema?.code == .schemaBehind ? Finding(migrating: condition) : nil
        let findings = [right, schema].compactMap(\.self) + condition.findings
        return findings.filter(\.code.stopsService) + findings.filter { !$0.code.stopsService }
    }

    private func finding(_ check: () async throws -> Void) async throws -> Finding? {
        do {
            try await check()
            return nil
        } catch let error as SchemaError {
            return Finding(error)
        } catch let error as SharedSessions { return Finding(error) }
    }
}

/// The process's limit of open files. Each connection uses one file.
enum OpenFiles {
    /// Room for the program's own files (three per event loop, thus per core) and for temporary connections: to
    /// issuers, name servers, and Postgres for cancellations.
    private static let ownFiles = 350

    /// Raises the limit as far as the system allows. Returns the number of connections that fit.
    ///
    /// - Parameters:
    ///   - connections: The desired connections of callers.
    ///   - others: The maximum of other connections: to Postgres, to the admin port, and evicted ones that are closing.
    static func makeRoom(for connections: Int, beside others: Int) -> Int {
        let reserve = others + ownFiles
        var limit = rlimit()
        guard getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return connections }
        let wanted = rlim_t(connections + reserve)
        if limit.rlim_cur < wanted {
            var raised = rlimit(rlim_cur: min(wanted, limit.rlim_max), rlim_max: limit.rlim_max)
            if setrlimit(Int32(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        let room = Int(min(limit.rlim_cur, wanted))
        return max(room - reserve, room / 2)
    }
}
