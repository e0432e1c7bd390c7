import Logging
import RegistryStore

/// An instance's cached knowledge: apps, callers, and whether Postgres works.
final class AccessState: Sendable {
    let apps: AppDirectory
    let keys: KeyDirectory
    let authenticator: Authenticator
    /// Whether writes would work, as of the last check.
    let readiness: TimedCache<Readiness>
    let clock: ServiceClock
    /// Whether issuers' keys may be fetched from addresses of the operator's own network.
    let allowsInternalKeySets: Bool

    /// The lifetime of a readiness check, failures included.
    static let readinessLifetime = Duration.milliseconds(100)

    init(registry: Registry, configuration: ServerConfiguration, clock: ServiceClock, logger: Logger) {
        self.clock = clock
        allowsInternalKeySets = configuration.allowsInternalJWKS
        apps = AppDirectory(registry: registry, lifetime: configuration.limits.appLifetime, clock: clock)
        keys = KeyDirectory(registry: registry, clock: clock)
        readiness = TimedCache(lifetime: Self.readinessLifetime, clock: clock) { try await registry.checkReadiness() }
        let fetcher = KeySetFetcher(allowsInternal: configuration.allowsInternalJWKS)
        authenticator = Authenticator(
            insecureNoAuth: configuration.insecureNoAuth,
            apps: apps,
            keys: keys,
            tokens: JWTVerifier(
                keys: IssuerKeys(clock: clock, logger: logger, journal: configuration.issuers, fetch: fetcher.fetch),
                clock: clock
            ),
            failures: FailedCredentials(configuration.failedCredentialRate, clock: clock)
        )
    }
}
