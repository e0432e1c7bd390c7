import RegistryCore
import RegistryStore
import Synchronization

/// A cache of API keys.
///
/// A result is valid for `lifetime`, because a revocation must reach all instances within 5 seconds. Concurrent lookups
/// share the next statement, so callers with invented ids neither load Postgres nor delay others.
struct KeyDirectory: Sendable {
    static let lifetime = Duration.seconds(3)
    static let useInterval = Duration.seconds(60)

    private struct KnownKeys: Sendable {
        let keys: [StoredKey]
        let lastUse: LastUse
    }

    private let registry: Registry
    private let clock: ServiceClock
    private let cache: LookupCache<APIKeyID, KnownKeys>

    init(registry: Registry, clock: ServiceClock) {
        self.registry = registry
        self.clock = clock
        cache = LookupCache { id, previous in
            let keys = try await registry.storedKeys(id)
            return keys.isEmpty ? nil : KnownKeys(keys: keys, lastUse: previous?.lastUse ?? LastUse())
        }
    }

    func validKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) async throws -> StoredKey? {
        let now = clock.uptime()
        if let entry = remembered(id, at: now) { return use(entry.value, at: now, where: accepts) }
        return use(try await cache.look(for: id, at: now).task.value.value, at: now, where: accepts)
    }

    /// Whether the last lookup, of any age, found an accepted key that has not expired.
    func wasValid(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> Bool {
        cache.latest(id)?.value?.keys.first(where: accepts)?.record.isValid(at: clock.date()) ?? false
    }

    func knownKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        let now = clock.uptime()
        return remembered(id, at: now).flatMap { use($0.value, at: now, where: accepts) }
    }

    func forget(_ id: APIKeyID) { cache.forget(id) }

    private func remembered(_ id: APIKeyID, at now: Duration) -> LookupCache<APIKeyID, KnownKeys>.Entry? {
        cache.latest(id).flatMap { now - $0.readAt < Self.lifetime ? $0 : nil }
    }

    /// Records the use of an accepted key.
    private func use(_ known: KnownKeys?, at now: Duration, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        guard let known, let key = known.keys.first(where: accepts), key.record.isValid(at: clock.date())
        else { return nil }
        if known.lastUse.isDue(at: now) { write(known.lastUse, of: key.record) }
        return key
    }

    /// Runs outside of the request. After a failure, the next use is stored.
    private func write(_ lastUse: LastUse, of record: APIKeyRecord) {
        let time = clock.date()
        Task {
            do { try await registry.noteUse(of: record, at: time) } catch { lastUse.forget() }
        }
    }
}

private final class LastUse: Sendable {
    private let notedAt = Mutex<Duration?>(nil)

    func isDue(at now: Duration) -> Bool {
        notedAt.withLock { notedAt in
            if let notedAt, now - notedAt < KeyDirectory.useInterval { return false }
            notedAt = now
            return true
        }
    }

    func forget() { notedAt.withLock { $0 = nil } }
}
