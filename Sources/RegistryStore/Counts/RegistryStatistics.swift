import Foundation
import PostgresDriver
import RegistryCore

package struct RegistryStatistics: Sendable, Hashable, JSONObjectEncodable {
    /// The count from the previous group's end up to `upTo`.
    package struct AgeGroup: Sendable, Hashable, JSONObjectEncodable {
        /// Exclusive. Nil for the last group.
        package let upTo: Duration?
        /// Extrapolated if ``RegistryStatistics/isEstimated``.
        package var count = 0

        package func writeMembers(to json: inout JSONWriter) {
            json.member("upTo", ifPresent: upTo)
            json.member("count", count)
        }
    }

    package struct Tokens: Sendable, Hashable, JSONObjectEncodable {
        package let kind: TokenKind
        package var count: Int
        /// By the time since the last confirmation.
        package var ages: [AgeGroup]

        package func writeMembers(to json: inout JSONWriter) {
            json.member("kind", kind.name)
            json.member("count", count)
            json.member("ages", ages)
        }
    }

    package struct Step: Sendable, Hashable, JSONObjectEncodable {
        /// The start of the step. For tokens, the time of the count.
        package let start: Date
        package let counts: [String: Int]

        package init(start: Date, counts: [String: Int]) { (self.start, self.counts) = (start, counts) }

        package func writeMembers(to json: inout JSONWriter) {
            json.member("at", start)
            json.counts("counts", counts)
        }
    }

    /// Postgres's clock, in whole minutes.
    package let computedAt: Date
    /// Some counts are extrapolated from a sample, because exact counts would take too long.
    package var isEstimated = false
    package var activities: [String: Int] = [:]
    package var activityAges: [AgeGroup] = []
    package var tokens: [Tokens] = []
    package let window: Duration
    package let step: Duration
    /// Events by type, the earliest step first. Steps without events are omitted.
    package var steps: [Step] = []
    package var tokenCounts: [Step] = []

    /// Hours for activities, days and weeks for longer-lived tokens.
    package static let ageLimits: [Duration] = [
        .seconds(900), .seconds(3600), .seconds(2 * 3600), .seconds(4 * 3600), .seconds(8 * 3600), .seconds(86_400),
        .seconds(7 * 86_400), .seconds(30 * 86_400),
    ]

    /// How long a count of tokens is used as the current count: twice the longest pause between counts within a day.
    package static let tokenCountValidity = Duration.seconds(600)

    package static var emptyAges: [AgeGroup] { ageLimits.map { AgeGroup(upTo: $0) } + [AgeGroup(upTo: nil)] }

    package static let windows = Duration.seconds(3600)...Duration.seconds(30 * 86_400)

    /// Gives at most 120 steps per window.
    package static func step(for window: Duration) -> Duration {
        let steps = [60, 300, 900, 3600, 6 * 3600].map { Duration.seconds($0) }
        return steps.first { window / $0 <= 120 } ?? .seconds(6 * 3600)
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("computedAt", computedAt)
        json.member("estimated", isEstimated)
        json.counts("activities", activities)
        json.member("activityAges", activityAges)
        json.member("tokens", tokens)
        json.member("window", window)
        json.member("step", step)
        json.member("events", steps)
        json.member("tokenCounts", tokenCounts)
    }
}

extension JSONWriter {
    fileprivate mutating func counts(_ name: String, _ counts: [String: Int]) {
        object(name) { json in
            for (key, count) in counts.sorted(by: { $0.key < $1.key }) { json.member(key, count) }
        }
    }
}

extension Registry {
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

    /// Up to this number, rare events are counted exactly.
    private static let mostRareEvents = 200_000

    private static func group(_ row: NamedRow) throws -> (step: Date, type: String) {
        (try row["step"], try row["type"])
    }

    /// An index finds events of rare types, unless they are too many.
    fileprivate mutating func countEvents(in scope: Scope, _ session: borrowing PostgresSession) throws {
        let start = computedAt.addingTimeInterval(-Double(window.components.seconds))
        let values: QueryValues = ["step": step, "scope": scope.id, "since": start]
        let sample = try TableSample("events", size: 100_000, of: scope, session)
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
