import Synchronization

/// The values of names that were looked up lately, so that not every request asks Postgres.
///
/// All who ask for a name at once wait for one look. How long an answer is believed is for the caller to say. A name that was
/// changed here is forgotten, and no look that began before brings back the value that it had.
final class LookupCache<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    /// An answer: nil when nobody had the name.
    struct Entry: Sendable {
        let value: Value?
        /// When the look began that found it.
        let readAt: Duration
    }

    private struct State {
        var known: [Name: Entry] = [:]
        var unknown: [Name: Duration] = [:]
        /// Those that began after the last change here.
        var reading: [Name: Task<Entry, any Error>] = [:]
        /// How often something was forgotten.
        var generation = 0

        mutating func keep(_ entry: Entry, of name: Name) {
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

    /// How many names that nobody has are remembered.
    private static var maximumUnknown: Int { 10_000 }

    private let find: @Sendable (Name, Value?) async throws -> Value?
    private let state = Mutex(State())

    /// - Parameter find: looks for the value of a name; it is told the value that was known before.
    init(_ find: @escaping @Sendable (Name, Value?) async throws -> Value?) { self.find = find }

    /// The last answer, however old; nil when there was none.
    func latest(_ name: Name) -> Entry? {
        state.withLock { state in
            state.known[name] ?? state.unknown[name].map { Entry(value: nil, readAt: $0) }
        }
    }

    /// Looks for a name.
    ///
    /// - Parameter now: the time; the answer is as old.
    /// - Returns: the look, and whether another caller began it, perhaps before this one asked.
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
            finish(name, generation) { $0.keep(entry, of: name) }
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

    /// Forgets a name that was changed here.
    func forget(_ name: Name) {
        state.withLock { state in
            state.known[name] = nil
            state.unknown[name] = nil
            state.reading = [:]
            state.generation += 1
        }
    }
}
