import Foundation
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
        let responder = RegistryResponder(registry: registry, configuration: configuration, logger: logger)
        let sweeper = Sweeper(
            registry: registry,
            interval: configuration.sweepInterval,
            logger: logger,
            metrics: responder.metrics.recorded
        )
        var services: [any Service] = [sweeper, MemoryReturn()]
        if configuration.adminPort != nil {
            let (admin, respond) = (configuration.ofAdminPort, responder.serving(Route.admin).respond)
            services.append(try Listener(admin, logger: logger, onServing: onServingAdmin, respond: respond))
        }
        // Services stop in reverse order, so the admin port answers until the last request is complete.
        services.append(try Listener(configuration, logger: logger, onServing: onServing, respond: responder.respond))
        self.services = services
    }

    package func run() async throws { try await ServiceGroup(services: services, logger: logger).run() }
}

extension ServerConfiguration {
    /// The port for metrics and probes. All callers that can reach it have access.
    var ofAdminPort: ServerConfiguration {
        var configuration = self
        configuration.port = adminPort ?? 0
        configuration.tls = nil
        // The limit of open files is set for the service's own port.
        configuration.limits.connections = min(limits.connections, Limits.adminConnections)
        // Excludes loopback. Leaves room for other addresses.
        configuration.limits.addressConnections = min(limits.addressConnections, 16)
        // Only on the service's own port, proxies have many callers.
        configuration.trustedProxies = []
        return configuration
    }
}

/// Returns freed memory to the system while the service runs.
///
/// glibc keeps freed memory for the thread that used it (malloc_trim(3)). After many large bodies, hundreds of MiB
/// would stay resident and count against a container's limit.
struct MemoryReturn: Service {
    func run() async {
        Self.limitFreeEnds()
        await cancelWhenGracefulShutdown {
            var least = Self.residentBytes
            while (try? await Task.sleep(for: .seconds(10))) != nil {
                // Not for less than 32 MiB, because a trim of a large heap takes milliseconds.
                if Self.residentBytes > least + (32 << 20) { Self.trim() }
                least = min(least, Self.residentBytes)
            }
        }
    }

    /// Makes glibc return the free end of a thread's heap when it exceeds 1 MiB. `malloc_trim` omits these ends, and the
    /// usual threshold rises to twice the largest freed block (mallopt(3)).
    static func limitFreeEnds() {
        typealias MallOpt = @convention(c) (_ parameter: CInt, _ value: CInt) -> CInt
        let trimThreshold: CInt = -1
        if let symbol = dlsym(nil, "mallopt") { _ = unsafeBitCast(symbol, to: MallOpt.self)(trimThreshold, 1 << 20) }
    }

    /// Does nothing if the C library has no `malloc_trim`.
    static func trim() {
        typealias MallocTrim = @convention(c) (_ padding: Int) -> CInt
        if let symbol = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(symbol, to: MallocTrim.self)(0) }
    }

    /// 0 without /proc (proc_pid_statm(5)).
    static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return fields.flatMap { Int($0[1]) }.map { $0 * sysconf(Int32(_SC_PAGESIZE)) } ?? 0
    }
}

/// The parts of the service that its calls share.
final class ServiceParts: Sendable {
    let registry: Registry
    let apps: AppDirectory
    let keys: KeyDirectory
    let issuerKeys: IssuerKeys
    let authenticator: Authenticator
    let readiness: TimedCache<Readiness>
    let feedback: FeedbackRecorder
    let metrics: ServiceMetrics
    let changeFeed: ChangeFeed
    let provider: IdentityProvider?
    /// The nonce of the console's form tokens without a sign-in.
    let insecureNonce = ConsoleSession.makeNonce()
    let startedAt = Date()
    let configuration: ServerConfiguration
    let clock: ServiceClock
    let logger: Logger

    /// Failures are cached, too.
    static let readinessLifetime = Duration.milliseconds(100)

    init(registry: Registry, configuration: ServerConfiguration, clock: ServiceClock, logger: Logger) {
        self.registry = registry
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        provider = configuration.signIn.map { IdentityProvider($0, clock: clock, logger: logger) }
        apps = AppDirectory(registry: registry, clock: clock)
        keys = KeyDirectory(registry: registry, clock: clock)
        readiness = TimedCache(lifetime: Self.readinessLifetime, clock: clock) { try await registry.checkReadiness() }
        let fetcher = KeySetFetcher(allowsInternal: configuration.allowsInternalJWKS)
        issuerKeys = IssuerKeys(clock: clock, logger: logger) { url in try await fetcher.fetch(url) }
        metrics = ServiceMetrics(registry, configuration, issuerKeys, clock)
        feedback = FeedbackRecorder(clock: clock, logger: logger, metrics: metrics.recorded)
        changeFeed = ChangeFeed(registry: registry, shutdownNotice: configuration.shutdownNotice, logger: logger)
        authenticator = Authenticator(
            insecureNoAuth: configuration.insecureNoAuth,
            apps: apps,
            keys: keys,
            tokens: JWTVerifier(keys: issuerKeys, clock: clock),
            failures: configuration.failedCredentialRate.map {
                let origin = "from this address with credentials that are not valid"
                return RateLimiter("credentials", $0, origin, metric: .limitedCredentials, clock: clock)
            }
        )
    }
}

/// Clocks and waits of access decisions. Tests replace them.
struct ServiceClock: Sendable {
    /// For the times in credentials.
    let date: @Sendable () -> Date
    /// A monotonic time for lifetimes.
    let uptime: @Sendable () -> Duration
    /// Returns early if the task is cancelled.
    var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0, clock: .continuous) }

    static let system: ServiceClock = {
        let start = ContinuousClock.now
        return ServiceClock(date: { Date() }, uptime: { ContinuousClock.now - start })
    }()
}
