import Foundation
import RegistryCore
import RegistryStore
import Synchronization

/// Recent counts, so that repeated and concurrent views do not count again.
final class RecentCounts: Sendable {
    private enum Subject: Hashable {
        case statistics(app: Int64, APNSEnvironment, Duration)
        case stale(app: Int64, APNSEnvironment)
    }

    private struct Entry {
        let readAt: ContinuousClock.Instant
        let counts: Task<any Sendable, any Error>
    }

    static let lifetime = Duration.seconds(20)
    private static let searchTime = Duration.milliseconds(200)

    private let entries = Mutex<[Subject: Entry]>([:])

    func statistics(over window: Duration, in scope: Scope, _ registry: Registry) async throws -> RegistryStatistics {
        try await find(.statistics(app: scope.app.number, scope.environment, window)) {
            try await registry.statistics(over: window, in: scope)
        }
    }

    func staleCounts(in scope: Scope, _ registry: Registry) async throws -> StaleCounts {
        try await find(.stale(app: scope.app.number, scope.environment)) {
            try await registry.countStaleTokens(searchTime: Self.searchTime, in: scope)
        }
    }

    /// For an app whose tokens were changed by this instance.
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
