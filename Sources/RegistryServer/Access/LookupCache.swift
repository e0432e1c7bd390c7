import Synchronization

/// A cache of lookups. Concurrent lookups of a name share one.
///
/// The caller decides how long a result is valid. This instance forgets names that it changes. A lookup that started
/// earlier does not restore the old value.
final class LookupCache<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The value is nil for an unknown name.
    struct Entry: Sendable {
        let value: Value?
        let readAt: Duration
    }

    private struct State {
        var known: [Name: Entry] = [:]
        var unknown: [Name: Duration] = [:]
        /// Lookups started since the last invalidation.
        var reading: [Name: Task<Entry, any Error>] = [:]
        var generation = 0

        mutating func storeEntry(_ entry: Entry, of name: Name) {
            guard entry.value == nil else {
                known[name] = entry
                unknown[name] = nil
                return
            }
            known[name] = nil
            if unknown.count >= LookupCache.maximumUnknown { unknown.removeAll(keepingCapacity: true) }
            unknown[name] = entry.readAt
        }
    }

    private static var maximumUnknown: Int { 10_000 }

    private let find: @Sendable (Name, Value?) async throws -> Value?
    private let state = Mutex(State())

    /// - Parameter find: Looks up a name. Receives the previous value.
    init(_ find: @escaping @Sendable (Name, Value?) async throws -> Value?) { self.find = find }

    func latest(_ name: Name) -> Entry? {
        state.withLock { state in
            state.known[name] ?? state.unknown[name].map { Entry(value: nil, readAt: $0) }
        }
    }

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
        do {
            let value = try await find(name, latest(name)?.value)
            let entry = Entry(value: value, readAt: now)
            finish(name, generation) { $0.storeEntry(entry, of: name) }
            return entry
        } catch {
            finish(name, generation) { _ in }
            throw error
        }
    }

    private func finish(_ name: Name, _ generation: Int, _ keep: (inout State) -> Void) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.reading[name] = nil
            keep(&state)
        }
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
