import RegistryStore

/// What an instance knows, for a while, of apps and of those who may call.
final class AccessState: Sendable {
    let apps: AppDirectory
    let keys: KeyDirectory
    let authenticator: Authenticator
    let clock: ServiceClock
    /// Whether issuers' keys may be fetched from addresses of the operator's own network.
    let allowsInternalKeySets: Bool

    init(registry: Registry, configuration: ServerConfiguration, clock: ServiceClock) {
        self.clock = clock
        allowsInternalKeySets = configuration.allowsInternalJWKS
        apps = AppDirectory(registry: registry, lifetime: configuration.limits.appLifetime, clock: clock)
        keys = KeyDirectory(registry: registry, clock: clock)
        let fetcher = KeySetFetcher(allowsInternal: configuration.allowsInternalJWKS)
        authenticator = Authenticator(
            insecureNoAuth: configuration.insecureNoAuth,
            apps: apps,
            keys: keys,
            tokens: JWTVerifier(keys: IssuerKeys(clock: clock, fetch: fetcher.fetch), clock: clock)
        )
    }
}
