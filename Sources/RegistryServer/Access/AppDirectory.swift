import RegistryCore
import RegistryStore

/// Recently requested apps.
///
/// A change by another instance shows after the lifetime at the latest; one by this instance at once. A negative answer
/// is cached only for unauthenticated callers: an authenticated request may follow the app's creation.
struct AppDirectory: Sendable {
    private let registry: Registry
    private let lifetime: Duration
    private let clock: ServiceClock
    private let cache: LookupCache<BundleID, App>

    /// The lifetime of a negative answer.
    static let unknownLifetime = Duration.seconds(3)

    init(registry: Registry, lifetime: Duration, clock: ServiceClock = .system) {
        self.registry = registry
        self.lifetime = lifetime
        self.clock = clock
        cache = LookupCache { bundleID, _ in try await registry.app(bundleID) }
    }

    func known(_ bundleID: BundleID) -> App? {
        let entry = cache.latest(bundleID)
        return entry.flatMap { clock.uptime() - $0.readAt < lifetime ? $0.value : nil }
    }

    /// Nil if there is no such app.
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
        // The app may have been created since another caller's lookup began.
        return isAuthenticated && isShared ? try await registry.app(bundleID) : nil
    }

    func forget(_ bundleID: BundleID) { cache.forget(bundleID) }
}
