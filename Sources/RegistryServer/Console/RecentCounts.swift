import Foundation
import RegistryCore
import RegistryStore
import Synchronization

/// Counts that were made lately, so that Postgres does not count anew when somebody looks again, or when many look at once.
final class RecentCounts: Sendable {
    private enum Subject: Hashable {
        case statistics(app: Int64, APNSEnvironment, Duration)
        case stale(app: Int64, APNSEnvironment)
    }

    private struct Entry {
        let readAt: ContinuousClock.Instant
        let counts: Task<any Sendable, any Error>
    }

    /// How long counts are shown before they are made anew.
    static let lifetime = Duration.seconds(20)
    /// How long stale tokens are counted.
    private static let searchTime = Duration.milliseconds(200)

    private let entries = Mutex<[Subject: Entry]>([:])

    /// Statistics of the last time, at most ``lifetime`` old.
    func statistics(over window: Duration, in scope: Scope, _ registry: Registry) async throws -> RegistryStatistics {
        try await find(.statistics(app: scope.app.number, scope.environment, window)) {
            try await registry.statistics(over: window, in: scope)
        }
    }

    /// How many tokens look dead, by kind and reason, at most ``lifetime`` old.
    func staleCounts(in scope: Scope, _ registry: Registry) async throws -> StaleCounts {
        try await find(.stale(app: scope.app.number, scope.environment)) {
            try await registry.countStaleTokens(searchTime: Self.searchTime, in: scope)
        }
    }

    /// Forgets what was counted of an app whose tokens were changed here.
    func forget(_ scope: Scope) {
        entries.withLock { entries in
            entries = entries.filter { subject, _ in
                switch subject {
                case .statistics(let app, _, _), .stale(let app, _): app != scope.app.number
                }
            }
        }
    }

    private func find<Counts: Sendable>(
        _ subject: Subject,
        _ count: @escaping @Sendable () async throws -> Counts
    ) async throws -> Counts {
        let now = ContinuousClock.now
        let task = entries.withLock { entries in
            if let entry = entries[subject], now - entry.readAt < Self.lifetime { return entry.counts }
            entries = entries.filter { now - $0.value.readAt < Self.lifetime }
            let task = Task<any Sendable, any Error> { try await count() }
            entries[subject] = Entry(readAt: now, counts: task)
            return task
        }
        do {
            guard let counts = try await task.value as? Counts else { return try await count() }
            return counts
        } catch {
            entries.withLock { $0[subject] = nil }
            throw error
        }
    }
}
