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

    init(registry: Registry, lifetime: Duration) {
        self.registry = registry
        self.lifetime = lifetime
    }

    /// The app, or nil when there is none.
    ///
    /// - Throws: `unavailable`.
    func app(_ bundleID: BundleID) async throws -> App? {
        let now = ContinuousClock.now
        if let entry = entries.withLock({ $0[bundleID] }), entry.expiry > now { return entry.app }
        let app = try await registry.app(bundleID)
        entries.withLock { $0[bundleID] = app.map { Entry(app: $0, expiry: now + lifetime) } }
        return app
    }

    /// Forgets an app that was changed.
    func forget(_ bundleID: BundleID) {
        entries.withLock { $0[bundleID] = nil }
    }
}
