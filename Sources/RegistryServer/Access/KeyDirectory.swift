import RegistryCore
import RegistryStore
import Synchronization

/// Recently used API keys.
///
/// A known key is trusted for `lifetime`, well below the 5 seconds in which a revocation must be in force everywhere. A
/// negative answer has the same lifetime. Concurrent lookups of ids share the next statement, so that a caller with
/// invented ids can neither load Postgres nor delay others.
struct KeyDirectory: Sendable {
    static let lifetime = Duration.seconds(3)
    static let useInterval = Duration.seconds(60)

    private struct KnownKeys: Sendable {
        let keys: [StoredKey]
        /// Kept while the id is known.
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

    /// A valid key that `accepts` allows, found by its public name alone; nil for all others.
    ///
    /// - Throws: `unavailable`.
    func validKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) async throws -> StoredKey? {
        let now = clock.uptime()
        if let entry = remembered(id, at: now) { return use(entry.value, at: now, where: accepts) }
        return use(try await cache.look(for: id, at: now).task.value.value, at: now, where: accepts)
    }

    /// Whether the last lookup, however long ago, found such a key that would still be valid.
    func wasValid(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> Bool {
        cache.latest(id)?.value?.keys.first(where: accepts)?.record.isValid(at: clock.date()) ?? false
    }

    /// As ``validKey(_:where:)``, from the cache alone.
    func knownKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        let now = clock.uptime()
        return remembered(id, at: now).flatMap { use($0.value, at: now, where: accepts) }
    }

    /// A key created or revoked by this instance is looked up again at once.
    func forget(_ id: APIKeyID) { cache.forget(id) }

    private func remembered(_ id: APIKeyID, at now: Duration) -> LookupCache<APIKeyID, KnownKeys>.Entry? {
        cache.latest(id).flatMap { now - $0.readAt < Self.lifetime ? $0 : nil }
    }

    /// The accepted key if it is valid now; notes its use.
    private func use(_ known: KnownKeys?, at now: Duration, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        guard let known, let key = known.keys.first(where: accepts), isValid(key.record) else { return nil }
        if known.lastUse.isDue(at: now) { write(known.lastUse, of: key.record) }
        return key
    }

    /// Most keys do not expire, and need no look at the clock.
    private func isValid(_ record: APIKeyRecord) -> Bool {
        record.expiresAt == nil ? record.revokedAt == nil : record.isValid(at: clock.date())
    }

    /// Stores the use, off the request's path. After a failure the next use is stored.
    private func write(_ lastUse: LastUse, of record: APIKeyRecord) {
        let time = clock.date()
        Task {
            do { try await registry.noteUse(of: record, at: time) } catch { lastUse.forget() }
        }
    }
}

/// The last stored use of a key.
private final class LastUse: Sendable {
    private let notedAt = Mutex<Duration?>(nil)

    /// True for only one caller per interval.
    func isDue(at now: Duration) -> Bool {
        notedAt.withLock { notedAt in
            if let notedAt, now - notedAt < KeyDirectory.useInterval { return false }
            notedAt = now
            return true
        }
    }

    func forget() { notedAt.withLock { $0 = nil } }
}
