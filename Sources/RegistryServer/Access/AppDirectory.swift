import RegistryCore
import RegistryStore

/// The apps that were asked for lately.
///
/// A change made elsewhere shows after the lifetime at the latest; one made here at once. That an app is unknown is
/// believed for those who are nobody yet alone: the next request of others may come right after its creation.
struct AppDirectory: Sendable {
    private let registry: Registry
    private let lifetime: Duration
    private let clock: ServiceClock
    private let cache: LookupCache<BundleID, App>

    /// How long a name that nobody has is believed to be one.
    static let unknownLifetime = Duration.seconds(3)

    init(registry: Registry, lifetime: Duration, clock: ServiceClock = .system) {
        self.registry = registry
        self.lifetime = lifetime
        self.clock = clock
        cache = LookupCache { bundleID, _ in try await registry.app(bundleID) }
    }

    /// The app if it is known without asking Postgres.
    func known(_ bundleID: BundleID) -> App? {
        let entry = cache.latest(bundleID)
        return entry.flatMap { clock.uptime() - $0.readAt < lifetime ? $0.value : nil }
    }

    /// The app, or nil when there is none.
    ///
    /// - Parameter isAuthenticated: whether the caller is known.
    /// - Throws: `unavailable`.
    func app(_ bundleID: BundleID, isAuthenticated: Bool = true) async throws -> App? {
        let now = clock.uptime()
        if let entry = cache.latest(bundleID) {
            if let app = entry.value, now - entry.readAt < lifetime { return app }
            if !isAuthenticated, entry.value == nil, now - entry.readAt < Self.unknownLifetime { return nil }
        }
        let (look, isShared) = cache.look(for: bundleID, at: now)
        if let app = try await look.value.value { return app }
        // An app that another began to look for may have been made since.
        return isAuthenticated && isShared ? try await registry.app(bundleID) : nil
    }

    /// Forgets an app that was changed.
    func forget(_ bundleID: BundleID) { cache.forget(bundleID) }
}
