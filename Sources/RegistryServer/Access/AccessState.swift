import Logging
import RegistryStore

final class AccessState: Sendable {
    let apps: AppDirectory
    let keys: KeyDirectory
    let authenticator: Authenticator
    let readiness: TimedCache<Readiness>
    let clock: ServiceClock
    /// Whether issuers' keys may come from addresses in the operator's own network.
    let allowsInternalKeySets: Bool

    /// Failures are cached, too.
    static let readinessLifetime = Duration.milliseconds(100)

    init(registry: Registry, configuration: ServerConfiguration, clock: ServiceClock, logger: Logger) {
        self.clock = clock
        allowsInternalKeySets = configuration.allowsInternalJWKS
        apps = AppDirectory(registry: registry, lifetime: configuration.limits.appLifetime, clock: clock)
        keys = KeyDirectory(registry: registry, clock: clock)
        readiness = TimedCache(lifetime: Self.readinessLifetime, clock: clock) { try await registry.checkReadiness() }
        let fetcher = KeySetFetcher(allowsInternal: configuration.allowsInternalJWKS)
        let issuerKeys = IssuerKeys(clock: clock, logger: logger, journal: configuration.issuers) { url in
            try await fetcher.fetch(url)
        }
        authenticator = Authenticator(
            insecureNoAuth: configuration.insecureNoAuth,
            apps: apps,
            keys: keys,
            tokens: JWTVerifier(keys: issuerKeys, clock: clock),
            failures: FailedCredentials(configuration.failedCredentialRate, clock: clock)
        )
    }
}
