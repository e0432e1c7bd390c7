import RegistryCore
import RegistryStore

/// A cache of apps.
///
/// A change by another instance is visible after ``lifetime``, a change by this instance at once. Only unauthenticated
/// callers get a cached negative result, because an authenticated request can follow the creation of the app.
struct AppDirectory: Sendable {
    private let registry: Registry
    private let clock: ServiceClock
    private let cache: LookupCache<BundleID, App>

    static let lifetime = Duration.seconds(5)
    static let unknownLifetime = Duration.seconds(3)

    init(registry: Registry, clock: ServiceClock) {
        self.registry = registry
        self.clock = clock
        cache = LookupCache { bundleID, _ in try await registry.app(bundleID) }
    }

    func known(_ bundleID: BundleID) -> App? {
        let entry = cache.latest(bundleID)
        return entry.flatMap { clock.uptime() - $0.readAt < Self.lifetime ? $0.value : nil }
    }

    func app(_ bundleID: BundleID, isAuthenticated: Bool = true) async throws -> App? {
        let now = clock.uptime()
        if let entry = cache.latest(bundleID) {
            if let app = entry.value, now - entry.readAt < Self.lifetime { return app }
            if !isAuthenticated, entry.value == nil, now - entry.readAt < Self.unknownLifetime { return nil }
        }
        let (look, isShared) = cache.look(for: bundleID, at: now)
        if let app = try await look.value.value { return app }
        // The app can be newer than the other caller's lookup.
        return isAuthenticated && isShared ? try await registry.app(bundleID) : nil
    }

    func forget(_ bundleID: BundleID) { cache.forget(bundleID) }
}
