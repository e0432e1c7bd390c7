import Logging
import RegistryStore

/// The knowledge that an instance keeps for a while: of apps, of those who may call, and of whether Postgres works.
final class AccessState: Sendable {
    let apps: AppDirectory
    let keys: KeyDirectory
    let authenticator: Authenticator
    /// The last word of Postgres on whether writes would work.
    let readiness: TimedCache<Readiness>
    let clock: ServiceClock
    /// Whether issuers' keys may be fetched from addresses of the operator's own network.
    let allowsInternalKeySets: Bool

    /// For how long a look at Postgres counts, a refusal too.
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
            tokens: JWTVerifier(keys: IssuerKeys(clock: clock, logger: logger, fetch: fetcher.fetch), clock: clock),
            failures: FailedCredentials(configuration.failedCredentialRate, clock: clock)
        )
    }
}
