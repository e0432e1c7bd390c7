import RegistryCore
import RegistryStore
import Synchronization

/// The apps that were asked for lately, so that not every request reads its app from Postgres.
///
/// A change made elsewhere shows after the lifetime at the latest; one made here at once. That an app is unknown is
/// remembered for those who are nobody yet alone: the next request of others may come right after its creation.
final class AppDirectory: Sendable {
    private struct Entry {
        let app: App
        let readAt: Duration
    }

    private struct State {
        var entries: [BundleID: Entry] = [:]
        var unknown: [BundleID: Duration] = [:]
        /// Those that began after the last change here.
        var reading: [BundleID: Task<App?, any Error>] = [:]
        /// How often something was forgotten: a read that began before the last time may have an old app.
        var generation = 0
    }

    private let registry: Registry
    private let lifetime: Duration
    private let clock: ServiceClock
    private let state = Mutex(State())

    /// How long a name that nobody has is believed to be one.
    static let unknownLifetime = Duration.seconds(3)
    /// How many such names are remembered.
    private static let maximumUnknown = 10_000

    init(registry: Registry, lifetime: Duration, clock: ServiceClock = .system) {
        self.registry = registry
        self.lifetime = lifetime
        self.clock = clock
    }

    /// The app if it is known without asking Postgres.
    func known(_ bundleID: BundleID) -> App? {
        let entry = state.withLock { $0.entries[bundleID] }
        return entry.flatMap { clock.uptime() - $0.readAt < lifetime ? $0.app : nil }
    }

    /// The app, or nil when there is none.
    ///
    /// - Parameter isAuthenticated: whether the caller is known.
    /// - Throws: `unavailable`.
    func app(_ bundleID: BundleID, isAuthenticated: Bool = true) async throws -> App? {
        if let app = known(bundleID) { return app }
        if !isAuthenticated, isRememberedAsUnknown(bundleID) { return nil }
        let now = clock.uptime()
        let (reading, isShared, generation) = startReading(bundleID, at: now)
        let app = try await reading.value
        if app != nil { return app }
        // An app that another began to look for may have been made since.
        if isAuthenticated { return isShared ? try await registry.app(bundleID) : nil }
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.unknown.count >= Self.maximumUnknown { state.unknown.removeAll(keepingCapacity: true) }
            state.unknown[bundleID] = now
        }
        return nil
    }

    /// All who ask for an app at once wait for one look at Postgres.
    private func startReading(
        _ bundleID: BundleID,
        at now: Duration
    ) -> (task: Task<App?, any Error>, isShared: Bool, generation: Int) {
        state.withLock { state in
            let generation = state.generation
            if let task = state.reading[bundleID] { return (task, true, generation) }
            let task = Task { try await self.read(bundleID, at: now, generation) }
            state.reading[bundleID] = task
            return (task, false, generation)
        }
    }

    private func read(_ bundleID: BundleID, at now: Duration, _ generation: Int) async throws -> App? {
        do {
            let app = try await registry.app(bundleID)
            finishReading(bundleID, generation) { $0.entries[bundleID] = app.map { Entry(app: $0, readAt: now) } }
            return app
        } catch {
            finishReading(bundleID, generation) { _ in }
            throw error
        }
    }

    private func finishReading(_ bundleID: BundleID, _ generation: Int, _ keep: (inout State) -> Void) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.reading[bundleID] = nil
            keep(&state)
        }
    }

    private func isRememberedAsUnknown(_ bundleID: BundleID) -> Bool {
        let since = state.withLock { $0.unknown[bundleID] }
        return since.map { clock.uptime() - $0 < Self.unknownLifetime } ?? false
    }

    /// Forgets an app that was changed.
    func forget(_ bundleID: BundleID) {
        state.withLock { state in
            state.entries[bundleID] = nil
            state.unknown[bundleID] = nil
            state.reading = [:]
            state.generation += 1
        }
    }
}
