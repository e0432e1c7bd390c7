import Foundation
import Logging
import RegistryCore
import RegistryStore
import Synchronization

/// The API keys that were used lately, so that not every request reads its key from Postgres.
///
/// What is known is believed for `lifetime`, well below the 5 seconds in which a revocation must be in force
/// everywhere. That an id is unknown is believed as long. All ids that are asked for while others are being looked up
/// share the next statement, so that a caller who makes them up can neither keep Postgres busy nor anybody else
/// waiting.
final class KeyDirectory: Sendable {
    static let lifetime = Duration.seconds(3)
    /// How often a key's last use is written down.
    static let useInterval = Duration.seconds(60)
    /// How many unknown ids are remembered.
    private static let maximumUnknown = 10_000

    private struct State {
        var known: [APIKeyID: (keys: [StoredKey], readAt: Duration)] = [:]
        var unknown: [APIKeyID: Duration] = [:]
        var reading: [APIKeyID: Task<[StoredKey], any Error>] = [:]
        var notedUses: [APIKeyID: Duration] = [:]
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
        guard let found = try await storedKeys(id).first(where: accepts) else { return nil }
        return note(found)
    }

    /// Whether there was such a key when Postgres was last asked, however long ago, that would be valid still.
    func wasValid(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> Bool {
        let keys = state.withLock { $0.known[id]?.keys } ?? []
        return keys.first(where: accepts)?.record.isValid(at: clock.date()) ?? false
    }

    /// The same, if that is known without asking Postgres.
    func knownKey(_ id: APIKeyID, where accepts: (StoredKey) -> Bool) -> StoredKey? {
        rememberedKeys(id, at: clock.uptime())?.first(where: accepts).flatMap(note)
    }

    /// The key if it is valid now, whose use is noted then.
    private func note(_ key: StoredKey) -> StoredKey? {
        guard key.record.isValid(at: clock.date()) else { return nil }
        noteUse(of: key.record)
        return key
    }

    /// Forgets a key that was made or revoked here, so that this instance need not wait.
    func forget(_ id: APIKeyID) {
        state.withLock { state in
            state.known[id] = nil
            state.unknown[id] = nil
        }
    }
}

extension KeyDirectory {
    private func storedKeys(_ id: APIKeyID) async throws -> [StoredKey] {
        let now = clock.uptime()
        if let remembered = rememberedKeys(id, at: now) { return remembered }
        return try await startReading(id, at: now).value
    }

    /// Nil when Postgres must be asked, an empty list when there is no such key.
    private func rememberedKeys(_ id: APIKeyID, at now: Duration) -> [StoredKey]? {
        state.withLock { state in
            if let entry = state.known[id] { return now - entry.readAt < Self.lifetime ? entry.keys : nil }
            return state.unknown[id].map { now - $0 < Self.lifetime } == true ? [] : nil
        }
    }

    /// All who ask for a key at once wait for one look at Postgres.
    private func startReading(_ id: APIKeyID, at now: Duration) -> Task<[StoredKey], any Error> {
        state.withLock { state in
            if let reading = state.reading[id] { return reading }
            let task = Task { try await self.read(id, at: now) }
            state.reading[id] = task
            return task
        }
    }

    private func read(_ id: APIKeyID, at now: Duration) async throws -> [StoredKey] {
        defer { state.withLock { $0.reading[id] = nil } }
        let keys = try await registry.storedKeys(id)
        state.withLock { state in
            state.known[id] = keys.isEmpty ? nil : (keys, now)
            guard keys.isEmpty else { return }
            if state.unknown.count >= Self.maximumUnknown { state.unknown.removeAll(keepingCapacity: true) }
            state.unknown[id] = now
        }
        return keys
    }

    /// Writes down the use, off the request's path. If that fails it is written the next time.
    private func noteUse(of record: APIKeyRecord) {
        let now = clock.uptime()
        let isDue = state.withLock { state in
            if let noted = state.notedUses[record.id], now - noted < Self.useInterval { return false }
            state.notedUses[record.id] = now
            return true
        }
        guard isDue else { return }
        let time = clock.date()
        Task {
            do {
                try await registry.noteUse(of: record, at: time)
            } catch {
                state.withLock { $0.notedUses[record.id] = nil }
            }
        }
    }
}
