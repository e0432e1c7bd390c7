import RegistryCore
import RegistryStore
import Synchronization

/// Caches lookups. Concurrent lookups of a name share one. The caller decides how long a result is valid. A lookup that
/// began before a name is forgotten is not cached.
final class LookupCache<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The value is nil for an unknown name.
    struct Entry: Sendable {
        let value: Value?
        let readAt: Duration
    }

    private struct State {
        var known: [Name: Entry] = [:]
        /// Bounded, because callers can invent names.
        var unknown: [Name: Entry] = [:]
        /// Lookups started since the last invalidation.
        var reading: [Name: Task<Entry, any Error>] = [:]
        var generation = 0
    }

    private let find: @Sendable (Name, Value?) async throws -> Value?
    private let state = Mutex(State())

    /// - Parameter find: Looks up a name. Receives the previous value.
    init(_ find: @escaping @Sendable (Name, Value?) async throws -> Value?) { self.find = find }

    func latest(_ name: Name) -> Entry? { state.withLock { $0.known[name] ?? $0.unknown[name] } }

    /// - Parameter now: Becomes the result's ``Entry/readAt``.
    /// - Returns: The lookup, and whether another caller started it, perhaps earlier.
    func look(for name: Name, at now: Duration) -> (task: Task<Entry, any Error>, isShared: Bool) {
        state.withLock { state in
            if let task = state.reading[name] { return (task, true) }
            let generation = state.generation
            let task = Task { try await self.read(name, at: now, generation) }
            state.reading[name] = task
            return (task, false)
        }
    }

    private func read(_ name: Name, at now: Duration, _ generation: Int) async throws -> Entry {
        var found: Entry?
        defer {
            state.withLock { state in
                guard state.generation == generation else { return }
                state.reading[name] = nil
                guard let found else { return }
                if state.unknown.count >= 10_000 { state.unknown.removeAll(keepingCapacity: true) }
                state.known[name] = found.value == nil ? nil : found
                state.unknown[name] = found.value == nil ? found : nil
            }
        }
        let entry = Entry(value: try await find(name, latest(name)?.value), readAt: now)
        found = entry
        return entry
    }

    func forget(_ name: Name) {
        state.withLock { state in
            state.known[name] = nil
            state.unknown[name] = nil
            state.reading = [:]
            state.generation += 1
        }
    }
}

/// Caches apps. A change by another instance is visible after ``lifetime``, a change by this instance at once. Only
/// unauthenticated callers get a cached negative result, because an authenticated request can follow the creation of
/// the app.
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
        cache.latest(bundleID).flatMap { clock.uptime() - $0.readAt < Self.lifetime ? $0.value : nil }
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

/// Caches API keys. A result is valid for `lifetime`, because a revocation must reach all instances within 5 seconds.
/// Concurrent lookups share the next statement, so callers with invented ids neither load Postgres nor delay others.
struct KeyDirectory: Sendable {
    static let lifetime = Duration.seconds(3)

    private struct KnownKeys: Sendable {
        let keys: [APIKeyRecord]
        let lastUse: MinuteThrottle
    }

    private let registry: Registry
    private let clock: ServiceClock
    private let cache: LookupCache<APIKeyID, KnownKeys>

    init(registry: Registry, clock: ServiceClock) {
        self.registry = registry
        self.clock = clock
        cache = LookupCache { id, previous in
            let keys = try await registry.storedKeys(id)
            return keys.isEmpty ? nil : KnownKeys(keys: keys, lastUse: previous?.lastUse ?? MinuteThrottle())
        }
    }

    func validKey(_ id: APIKeyID, where accepts: (APIKeyRecord) -> Bool) async throws -> APIKeyRecord? {
        let now = clock.uptime()
        if let entry = remembered(id, at: now) { return use(entry.value, at: now, where: accepts) }
        return use(try await cache.look(for: id, at: now).task.value.value, at: now, where: accepts)
    }

    /// Whether the last lookup, of any age, found an accepted key that has not expired.
    func wasValid(_ id: APIKeyID, where accepts: (APIKeyRecord) -> Bool) -> Bool {
        cache.latest(id)?.value?.keys.first(where: accepts)?.isValid(at: clock.date()) ?? false
    }

    func knownKey(_ id: APIKeyID, where accepts: (APIKeyRecord) -> Bool) -> APIKeyRecord? {
        let now = clock.uptime()
        return remembered(id, at: now).flatMap { use($0.value, at: now, where: accepts) }
    }

    func forget(_ id: APIKeyID) { cache.forget(id) }

    private func remembered(_ id: APIKeyID, at now: Duration) -> LookupCache<APIKeyID, KnownKeys>.Entry? {
        cache.latest(id).flatMap { now - $0.readAt < Self.lifetime ? $0 : nil }
    }

    /// Records the use of an accepted key, outside of the request. After a failure, the next use is stored.
    private func use(_ known: KnownKeys?, at now: Duration, where accepts: (APIKeyRecord) -> Bool) -> APIKeyRecord? {
        let time = clock.date()
        guard let known, let key = known.keys.first(where: accepts), key.isValid(at: time) else { return nil }
        if known.lastUse.isDue(at: now) {
            Task {
                do { try await registry.noteUse(of: key, at: time) } catch { known.lastUse.reset() }
            }
        }
        return key
    }
}

final class MinuteThrottle: Sendable {
    private let last = Mutex<Duration?>(nil)

    func isDue(at now: Duration) -> Bool {
        last.withLock { last in
            if let last, now - last < .seconds(60) { return false }
            last = now
            return true
        }
    }

    func reset() { last.withLock { $0 = nil } }
}

/// Caches the last result of an expensive query. Concurrent callers share one query.
actor TimedCache<Value: Sendable> {
    private let lifetime: Duration
    private let clock: ServiceClock
    private let ask: @Sendable () async throws -> Value
    private var last: (result: Result<Value, any Error>, time: Duration)?
    private var asking: Task<Value, any Error>?

    /// - Parameter lifetime: Applies to failures, too.
    init(lifetime: Duration, clock: ServiceClock, _ ask: @escaping @Sendable () async throws -> Value) {
        (self.lifetime, self.clock, self.ask) = (lifetime, clock, ask)
    }

    func value() async throws -> Value {
        if let last, clock.uptime() - last.time < lifetime { return try last.result.get() }
        if let asking { return try await asking.value }
        let task = Task { [ask] in try await ask() }
        asking = task
        let result = await task.result
        last = (result, clock.uptime())
        asking = nil
        return try result.get()
    }
}
