import RegistryCore
import RegistryStore
import Synchronization

/// The apps that were asked for lately, so that not every request reads its app from Postgres.
///
/// A change made elsewhere shows after the lifetime at the latest; one made here at once. That an app is unknown is not
/// remembered, for the next request may come right after its creation.
final class AppDirectory: Sendable {
    private struct Entry {
        let app: App
        let expiry: ContinuousClock.Instant
    }

    private let registry: Registry
    private let lifetime: Duration
    private let entries = Mutex<[BundleID: Entry]>([:])
    private let clock: ServiceClock
    private let lookups: Mutex<TokenBucket>

    /// How many unknown names are looked up a second for callers who are nobody yet.
    static let lookupsPerSecond = 200

    init(registry: Registry, lifetime: Duration, clock: ServiceClock = .system) {
        self.registry = registry
        self.lifetime = lifetime
        self.clock = clock
        let rate = Double(Self.lookupsPerSecond)
        lookups = Mutex(TokenBucket(rate: rate, capacity: rate, at: clock.uptime()))
    }

    /// The app if it is known without asking Postgres.
    func known(_ bundleID: BundleID) -> App? {
        let entry = entries.withLock { $0[bundleID] }
        return entry.flatMap { $0.expiry > ContinuousClock.now ? $0.app : nil }
    }

    /// The app, or nil when there is none.
    ///
    /// - Parameter isAuthenticated: whether the caller is known; others cannot have any number of names looked up.
    /// - Throws: `unavailable`, `too-many-requests`.
    func app(_ bundleID: BundleID, isAuthenticated: Bool = true) async throws -> App? {
        let now = ContinuousClock.now
        let entry = entries.withLock { $0[bundleID] }
        if let entry, entry.expiry > now { return entry.app }
        if !isAuthenticated, entry == nil, !lookups.withLock({ $0.take(at: clock.uptime()) }) {
            throw RateLimited.byUnknown(Self.lookupsPerSecond)
        }
        let app = try await registry.app(bundleID)
        entries.withLock { $0[bundleID] = app.map { Entry(app: $0, expiry: now + lifetime) } }
        return app
    }

    /// Forgets an app that was changed.
    func forget(_ bundleID: BundleID) {
        entries.withLock { $0[bundleID] = nil }
    }
}
