import Logging
import RegistryStore

/// The parts of the service that its calls share.
final class ServiceParts: Sendable {
    let registry: Registry
    let apps: AppDirectory
    let keys: KeyDirectory
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

    init(
        registry: Registry,
        configuration: ServerConfiguration,
        clock: ServiceClock,
        logger: Logger,
        metrics: ServiceMetrics
    ) {
        self.registry = registry
        self.clock = clock
        self.metrics = metrics
        allowsInternalKeySets = configuration.allowsInternalJWKS
        shutdownNotice = configuration.shutdownNotice
        apps = AppDirectory(registry: registry, clock: clock)
        keys = KeyDirectory(registry: registry, clock: clock)
        readiness = TimedCache(lifetime: Self.readinessLifetime, clock: clock) { try await registry.checkReadiness() }
        feedback = FeedbackRecorder(clock: clock, logger: logger, metrics: metrics.recorded)
        changeFeed = ChangeFeed(registry: registry, shutdownNotice: shutdownNotice, logger: logger)
        let fetcher = KeySetFetcher(allowsInternal: configuration.allowsInternalJWKS)
        let issuerKeys = IssuerKeys(clock: clock, logger: logger, journal: configuration.issuers) { url in
            try await fetcher.fetch(url)
        }
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
