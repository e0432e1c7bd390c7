import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// The counts of this minute, and of events and tokens over the last time.
    ///
    /// - Parameter window: how far back events are counted, within ``RegistryStatistics/windows``.
    package func statistics(over window: Duration, in scope: Scope) async throws -> RegistryStatistics {
        let counts = try await counts(in: scope)
        return try await read { session in
            var statistics = RegistryStatistics(counts, window: window)
            try statistics.countEvents(StatisticsStatements(scope: scope), session)
            try statistics.readTokenCounts(CountStatements(scope: scope), session)
            return statistics
        }
    }
}

extension RegistryStatistics {
    fileprivate init(_ counts: Counts, window: Duration) {
        self.init(computedAt: counts.countedAt, window: window, step: Self.step(for: window))
        isEstimated = counts.isEstimated
        for state in ActivityState.allCases where counts[.activities(state)] > 0 {
            activities[state.rawValue] = counts[.activities(state)]
        }
        activityAges = counts.ages(of: .activities(.active), .activities(.dismissed))
        tokens = counts.tokens
    }

    fileprivate mutating func countEvents(
        _ statements: StatisticsStatements,
        _ session: borrowing PostgresSession
    ) throws {
        let start = computedAt.addingTimeInterval(-Double(window.components.seconds))
        let step = step
        func read(_ row: PostgresRow) throws -> ((step: Date, type: String), Int) {
            let (step, type, count) = try row.decode(Date.self, String.self, Int.self)
            return ((step, type), count)
        }
        let scope = statements.scope
        let sample = try TableSample("events", size: StatisticsStatements.sampleSize, of: scope, session)
        var groups = try session.execute(statements.rareEvents(since: start, step: step)).rows.map(read)
        let areRareMany = groups.map(\.1).reduce(0, +) >= StatisticsStatements.mostRareEvents
        if areRareMany { groups = [] }
        for areCommon in areRareMany ? [true, false] : [true] {
            let sampled = try sample.count(
                session,
                { statements.sampledEvents(areCommon: areCommon, since: start, step: step, percent: $0) },
                read
            )
            groups += sampled.groups
            isEstimated = isEstimated || sampled.isEstimated
        }
        var counts: [Date: [String: Int]] = [:]
        for (group, count) in groups { counts[group.step, default: [:]][group.type] = count }
        steps = counts.sorted { $0.key < $1.key }.map { Step(start: $0.key, counts: $0.value) }
    }

    fileprivate mutating func readTokenCounts(
        _ statements: CountStatements,
        _ session: borrowing PostgresSession
    ) throws {
        // A column of a chart may begin before its window, and shows what was counted shortly before it.
        let start = computedAt.addingTimeInterval(-Double((window + step + Self.tokenCountValidity).components.seconds))
        tokenCounts = try session.execute(statements.history(since: start)).rows.map { row in
            let counts = try Counts(row)
            let current = counts.tokens.filter { $0.count > 0 }.map { ($0.kind.name, $0.count) }
            return Step(start: counts.countedAt, counts: Dictionary(uniqueKeysWithValues: current))
        }
    }
}
