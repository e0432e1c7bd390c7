import Foundation
import Logging
import RegistryStore

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
    let shutdownNotice: ShutdownNotice
    let clock: ServiceClock
    /// Whether issuers' keys may come from addresses in the operator's own network.
    let allowsInternalKeySets: Bool

    /// Failures are cached, too.
    static let readinessLifetime = Duration.milliseconds(100)

    init(registry: Registry, configuration: ServerConfiguration, clock: ServiceClock, logger: Logger) {
        self.registry = registry
        self.clock = clock
        allowsInternalKeySets = configuration.allowsInternalJWKS
        shutdownNotice = configuration.shutdownNotice
        apps = AppDirectory(registry: registry, clock: clock)
        keys = KeyDirectory(registry: registry, clock: clock)
        readiness = TimedCache(lifetime: Self.readinessLifetime, clock: clock) { try await registry.checkReadiness() }
        let fetcher = KeySetFetcher(allowsInternal: configuration.allowsInternalJWKS)
        issuerKeys = IssuerKeys(clock: clock, logger: logger) { url in try await fetcher.fetch(url) }
        metrics = ServiceMetrics(registry, configuration, issuerKeys, clock)
        feedback = FeedbackRecorder(clock: clock, logger: logger, metrics: metrics.recorded)
        changeFeed = ChangeFeed(registry: registry, shutdownNotice: shutdownNotice, logger: logger)
        authenticator = Authenticator(
            insecureNoAuth: configuration.insecureNoAuth,
            apps: apps,
            keys: keys,
            tokens: JWTVerifier(keys: issuerKeys, clock: clock),
            failures: configuration.failedCredentialRate.map {
                RateLimiter(RateLimited.credentials, $0, clock: clock)
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

    func sleep(until time: Duration) async {
        let rest = time - uptime()
        if rest > .zero { await sleep(rest) }
    }

    static let system: ServiceClock = {
        let start = ContinuousClock.now
        return ServiceClock(date: { Date() }, uptime: { ContinuousClock.now - start })
    }()
}
