import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// - Parameter window: how far back events are counted, within ``RegistryStatistics/windows``.
    package func statistics(over window: Duration, in scope: Scope) async throws -> RegistryStatistics {
        let counts = try await counts(in: scope)
        return try await read { session in
            var statistics = RegistryStatistics(counts, window: window)
            try statistics.countEvents(in: scope, session)
            try statistics.readTokenCounts(in: scope, session)
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

    private static let sampleSize = 100_000
    /// Up to this number, rare events are counted exactly.
    private static let mostRareEvents = 200_000

    private static func group(_ row: NamedRow) throws -> (step: Date, type: String) {
        (try row["step"], try row["type"])
    }

    /// An index finds events of rare types, unless they are too many.
    fileprivate mutating func countEvents(in scope: Scope, _ session: borrowing PostgresSession) throws {
        let start = computedAt.addingTimeInterval(-Double(window.components.seconds))
        let values: QueryValues = ["step": step, "scope": scope.id, "since": start]
        let sample = try TableSample("events", size: Self.sampleSize, of: scope, session)
        var groups = try session.run("counts.count-rare-events", values + ["limit": Self.mostRareEvents])
            .decode { (try Self.group($0), count: try $0["count"] as Int) }
        let areRareMany = groups.map(\.count).reduce(0, +) >= Self.mostRareEvents
        if areRareMany { groups = [] }
        for areCommon in areRareMany ? [true, false] : [true] {
            let common: QueryValues = ["are_common": areCommon]
            let sampled = try sample.count("counts.count-events", values + common, session, Self.group)
            groups += sampled.groups
            isEstimated = isEstimated || sampled.isEstimated
        }
        var counts: [Date: [String: Int]] = [:]
        for (group, count) in groups { counts[group.step, default: [:]][group.type] = count }
        steps = counts.sorted { $0.key < $1.key }.map { Step(start: $0.key, counts: $0.value) }
    }

    fileprivate mutating func readTokenCounts(in scope: Scope, _ session: borrowing PostgresSession) throws {
        // A chart's column may begin before the window, and shows the latest earlier count.
        let start = computedAt.addingTimeInterval(-Double((window + step + Self.tokenCountValidity).components.seconds))
        let stored = try session.run("counts.read-since", ["scope": scope.id, "since": start]).decode(Counts.self)
        tokenCounts = stored.map { counts in
            let current = counts.tokens.filter { $0.count > 0 }.map { ($0.kind.name, $0.count) }
            return Step(start: counts.countedAt, counts: Dictionary(uniqueKeysWithValues: current))
        }
    }
}
