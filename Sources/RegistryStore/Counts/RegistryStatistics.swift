import Foundation
import RegistryCore

/// Counts of one scope, now and over time.
package struct RegistryStatistics: Sendable, Hashable {
    /// The count from the previous group's end up to `upTo`.
    package struct AgeGroup: Sendable, Hashable {
        /// Exclusive. Nil for the last group.
        package let upTo: Duration?
        /// Extrapolated if ``RegistryStatistics/isEstimated``.
        package var count = 0
    }

    /// Deliverable tokens of one kind.
    package struct Tokens: Sendable, Hashable {
        package let kind: TokenKind
        package var count: Int
        /// By the time since the last confirmation.
        package var ages: [AgeGroup]
    }

    package struct Step: Sendable, Hashable {
        /// The start of the step. For tokens, the time of the count.
        package let start: Date
        package let counts: [String: Int]

        package init(start: Date, counts: [String: Int]) {
            self.start = start
            self.counts = counts
        }
    }

    /// Postgres's clock, in whole minutes.
    package let computedAt: Date
    /// Some counts are extrapolated from a sample, because exact counts would take too long.
    package var isEstimated = false
    package var activities: [String: Int] = [:]
    /// By the time since their start.
    package var activityAges: [AgeGroup] = []
    /// One entry per kind, in the order of ``TokenKind/all``.
    package var tokens: [Tokens] = []
    /// The time before ``computedAt`` in which events are counted.
    package let window: Duration
    package let step: Duration
    /// Events by type, the earliest step first. Steps without events are omitted.
    package var steps: [Step] = []
    /// Tokens by kind at times within the window, in order.
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
}

extension RegistryStatistics.AgeGroup: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("upTo", ifPresent: upTo)
        json.member("count", count)
    }
}

extension RegistryStatistics.Tokens: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("kind", kind.name)
        json.member("count", count)
        json.member("ages", ages)
    }
}

extension RegistryStatistics.Step: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("at", start)
        json.counts("counts", counts)
    }
}

extension RegistryStatistics: JSONObjectEncodable {
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
