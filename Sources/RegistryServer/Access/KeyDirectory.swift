import RegistryCore
import RegistryStore
import Synchronization

/// The API keys that were used lately.
///
/// A known key is believed for `lifetime`, well below the 5 seconds in which a revocation must be in force
/// everywhere. That an id is unknown is believed as long. All ids that are asked for while others are being looked up
/// share the next statement, so that a caller who makes them up can neither keep Postgres busy nor anybody else
/// waiting.
struct KeyDirectory: Sendable {
    static let lifetime = Duration.seconds(3)
    /// How often a key's last use is written down.
    static let useInterval = Duration.seconds(60)

    /// The keys of an id as Postgres had them.
    private struct KnownKeys: Sendable {
        let keys: [StoredKey]
        /// The same for as long as the id is known.
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

    /// A key that is valid now and that a test accepts, found by its public name alone; nil for all others.
    ///
    /// - Throws: `unavailable`.
    func validKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) async throws -> StoredKey? {
        let now = clock.uptime()
        if let entry = remembered(id, at: now) { return use(entry.value, at: now, where: accepts) }
        return use(try await cache.look(for: id, at: now).task.value.value, at: now, where: accepts)
    }

    /// Whether there was such a key when Postgres was last asked, however long ago, that would be valid still.
    func wasValid(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> Bool {
        cache.latest(id)?.value?.keys.first(where: accepts)?.record.isValid(at: clock.date()) ?? false
    }

    /// The same as ``validKey(_:where:)``, if that is known without asking Postgres.
    func knownKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        let now = clock.uptime()
        return remembered(id, at: now).flatMap { use($0.value, at: now, where: accepts) }
    }

    /// Forgets a key that was made or revoked here, so that this instance need not wait.
    func forget(_ id: APIKeyID) { cache.forget(id) }

    /// Nil when Postgres must be asked.
    private func remembered(_ id: APIKeyID, at now: Duration) -> LookupCache<APIKeyID, KnownKeys>.Entry? {
        cache.latest(id).flatMap { now - $0.readAt < Self.lifetime ? $0 : nil }
    }

    /// The key that a test accepts if it is valid now, whose use is noted then.
    private func use(_ known: KnownKeys?, at now: Duration, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        guard let known, let key = known.keys.first(where: accepts), isValid(key.record) else { return nil }
        if known.lastUse.isDue(at: now) { write(known.lastUse, of: key.record) }
        return key
    }

    /// Most keys have no end, so that nobody need look at the clock.
    private func isValid(_ record: APIKeyRecord) -> Bool {
        record.expiresAt == nil ? record.revokedAt == nil : record.isValid(at: clock.date())
    }

    /// Writes down the use, off the request's path. If that fails it is written the next time.
    private func write(_ lastUse: LastUse, of record: APIKeyRecord) {
        let time = clock.date()
        Task {
            do { try await registry.noteUse(of: record, at: time) } catch { lastUse.forget() }
        }
    }
}

/// The last time at which a use of a key was written down.
private final class LastUse: Sendable {
    private let notedAt = Mutex<Duration?>(nil)

    /// Whether a use must be written down; says so to one caller alone.
    func isDue(at now: Duration) -> Bool {
        notedAt.withLock { notedAt in
            if let notedAt, now - notedAt < KeyDirectory.useInterval { return false }
            notedAt = now
            return true
        }
    }

    func forget() { notedAt.withLock { $0 = nil } }
}
