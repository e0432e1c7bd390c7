import RegistryCore
import RegistryStore
import Synchronization

/// The API keys that were used lately, so that not every request reads its key from Postgres.
///
/// A known key is believed for `lifetime`, well below the 5 seconds in which a revocation must be in force
/// everywhere. That an id is unknown is believed as long. All ids that are asked for while others are being looked up
/// share the next statement, so that a caller who makes them up can neither keep Postgres busy nor anybody else
/// waiting.
final class KeyDirectory: Sendable {
    static let lifetime = Duration.seconds(3)
    /// How often a key's last use is written down.
    static let useInterval = Duration.seconds(60)
    /// How many unknown ids are remembered.
    private static let maximumUnknown = 10_000

    /// The keys of an id as Postgres had them; none for an id that nobody has.
    private struct Entry: Sendable {
        let keys: [StoredKey]
        let readAt: Duration
        /// When a use of one was last written down.
        var notedAt: Duration?

        func isUseDue(at now: Duration) -> Bool { notedAt.map { now - $0 >= KeyDirectory.useInterval } ?? true }
    }

    private struct State {
        var known: [APIKeyID: Entry] = [:]
        var unknown: [APIKeyID: Duration] = [:]
        /// Those that began after the last change here.
        var reading: [APIKeyID: Task<Entry, any Error>] = [:]
        /// How often something was forgotten: a read that began before the last time may have old keys.
        var generation = 0

        mutating func keep(_ entry: Entry, of id: APIKeyID) {
            known[id] = entry.keys.isEmpty ? nil : entry
            guard entry.keys.isEmpty else { return }
            if unknown.count >= KeyDirectory.maximumUnknown { unknown.removeAll(keepingCapacity: true) }
            unknown[id] = entry.readAt
        }
    }

    private let registry: Registry
    private let clock: ServiceClock
    private let state = Mutex(State())

    init(registry: Registry, clock: ServiceClock) {
        self.registry = registry
        self.clock = clock
    }

    /// A key that is valid now and that a test accepts, found by its public name alone; nil for all others.
    ///
    /// - Throws: `unavailable`.
    func validKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) async throws -> StoredKey? {
        let now = clock.uptime()
        if let entry = remembered(id, at: now) { return use(entry, at: now, where: accepts) }
        return use(try await startReading(id, at: now).value, at: now, where: accepts)
    }

    /// Whether there was such a key when Postgres was last asked, however long ago, that would be valid still.
    func wasValid(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> Bool {
        let keys = state.withLock { $0.known[id]?.keys } ?? []
        return keys.first(where: accepts)?.record.isValid(at: clock.date()) ?? false
    }

    /// The same, if that is known without asking Postgres.
    func knownKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        let now = clock.uptime()
        return remembered(id, at: now).flatMap { use($0, at: now, where: accepts) }
    }

    /// The key that a test accepts if it is valid now, whose use is noted then.
    private func use(_ entry: Entry, at now: Duration, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        guard let key = entry.keys.first(where: accepts), isValid(key.record) else { return nil }
        if entry.isUseDue(at: now) { noteUse(of: key.record, at: now) }
        return key
    }

    /// Most keys have no end, so that nobody need look at the clock.
    private func isValid(_ record: APIKeyRecord) -> Bool {
        record.expiresAt == nil ? record.revokedAt == nil : record.isValid(at: clock.date())
    }

    /// Forgets a key that was made or revoked here, so that this instance need not wait.
    func forget(_ id: APIKeyID) {
        state.withLock { state in
            state.known[id] = nil
            state.unknown[id] = nil
            state.reading = [:]
            state.generation += 1
        }
    }
}

extension KeyDirectory {
    /// Nil when Postgres must be asked.
    private func remembered(_ id: APIKeyID, at now: Duration) -> Entry? {
        state.withLock { state in
            if let entry = state.known[id] { return now - entry.readAt < Self.lifetime ? entry : nil }
            return state.unknown[id].flatMap { now - $0 < Self.lifetime ? Entry(keys: [], readAt: $0) : nil }
        }
    }

    /// All who ask for a key at once wait for one look at Postgres.
    private func startReading(_ id: APIKeyID, at now: Duration) -> Task<Entry, any Error> {
        state.withLock { state in
            if let reading = state.reading[id] { return reading }
            let generation = state.generation
            let task = Task { try await self.read(id, at: now, generation) }
            state.reading[id] = task
            return task
        }
    }

    private func read(_ id: APIKeyID, at now: Duration, _ generation: Int) async throws -> Entry {
        do {
            let keys = try await registry.storedKeys(id)
            return state.withLock { state in
                let entry = Entry(keys: keys, readAt: now, notedAt: state.known[id]?.notedAt)
                guard state.generation == generation else { return entry }
                state.reading[id] = nil
                state.keep(entry, of: id)
                return entry
            }
        } catch {
            state.withLock { state in
                if state.generation == generation { state.reading[id] = nil }
            }
            throw error
        }
    }

    /// Writes down the use, off the request's path. If that fails it is written the next time.
    private func noteUse(of record: APIKeyRecord, at now: Duration) {
        let isDue = state.withLock { state in
            // A key that was forgotten meanwhile is noted when it is used again.
            guard state.known[record.id]?.isUseDue(at: now) == true else { return false }
            state.known[record.id]?.notedAt = now
            return true
        }
        guard isDue else { return }
        let time = clock.date()
        Task {
            do {
                try await registry.noteUse(of: record, at: time)
            } catch {
                state.withLock { state in
                    guard var entry = state.known[record.id] else { return }
                    entry.notedAt = nil
                    state.known[record.id] = entry
                }
            }
        }
    }
}
