import Foundation
import RegistryCore
import RegistryStore
import Synchronization

final class RecentCounts: Sendable {
    private struct Entry {
        let readAt: ContinuousClock.Instant
        let counts: Task<StaleCounts, any Error>
    }

    private static let lifetime = Duration.seconds(20)
    private static let searchTime = Duration.milliseconds(200)

    private let entries = Mutex<[Scope: Entry]>([:])

    func staleCounts(in scope: Scope, _ registry: Registry) async throws -> StaleCounts {
        let now = ContinuousClock.now
        let task = entries.withLock { entries in
            entries = entries.filter { now - $0.value.readAt < Self.lifetime }
            if let entry = entries[scope] { return entry.counts }
            let task = Task { try await registry.countStaleTokens(searchTime: Self.searchTime, in: scope) }
            entries[scope] = Entry(readAt: now, counts: task)
            return task
        }
        do {
            return try await task.value
        } catch {
            forget(scope)
            throw error
        }
    }

    /// For scopes that this instance changes.
    func forget(_ scope: Scope) { entries.withLock { $0[scope] = nil } }
}
