import Foundation

/// The counts of one app in one environment, now and over time.
package struct RegistryStatistics: Sendable, Hashable {
    /// How many there are up to an age; the last of a list has no end.
    package struct AgeGroup: Sendable, Hashable {
        /// The end of the group, itself not in it; nil for the last. The group begins where the one before it ends.
        package let upTo: Duration?
        /// How many there are in the group; extrapolated where ``RegistryStatistics/isEstimated``.
        package var count: Int

        /// Makes a group, empty unless a count is given.
        package init(upTo: Duration?, count: Int = 0) {
            self.upTo = upTo
            self.count = count
        }
    }

    /// Tokens of one kind that would be pushed to.
    package struct Tokens: Sendable, Hashable {
        /// The kind of the tokens.
        package let kind: TokenKind
        /// How many there are, of all ages.
        package var count: Int
        /// By the time since a client last confirmed them.
        package var ages: [AgeGroup]

        /// Makes an entry of its parts.
        package init(kind: TokenKind, count: Int, ages: [AgeGroup]) {
            self.kind = kind
            self.count = count
            self.ages = ages
        }
    }

    /// How many events of each type there were in one step of time.
    package struct Step: Sendable, Hashable {
        /// When the step begins, by the clock; for counts of tokens, when they were counted.
        package let start: Date
        /// By the type of event, or by the kind of token.
        package var counts: [String: Int]

        /// Makes a step, empty unless counts are given.
        package init(start: Date, counts: [String: Int] = [:]) {
            self.start = start
            self.counts = counts
        }
    }

    /// The minute in which everything was counted, by Postgres's clock.
    package let computedAt: Date
    /// Some of the counts are extrapolated from a sample: exact ones would take too long.
    package var isEstimated = false
    /// By ``ActivityState``.
    package var activities: [String: Int] = [:]
    /// Running activities by the time since they started.
    package var activityAges: [AgeGroup] = []
    /// One entry for each kind, in the order of ``TokenKind/all``.
    package var tokens: [Tokens] = []
    /// How far back events are counted, from ``computedAt``.
    package let window: Duration
    /// The length of each of ``steps``.
    package let step: Duration
    /// Events by type over the window, the earliest step first; steps without events are left out.
    package var steps: [Step] = []
    /// How many tokens of each kind there were at times within the window, in their order.
    package var tokenCounts: [Step] = []

    /// Makes statistics in which nothing has been counted.
    package init(computedAt: Date, window: Duration, step: Duration) {
        self.computedAt = computedAt
        self.window = window
        self.step = step
    }

    /// The ends of the groups of ages: hours for activities, days and weeks for what lives longer.
    package static let ageLimits: [Duration] = [
        .seconds(900), .seconds(3600), .seconds(2 * 3600), .seconds(4 * 3600), .seconds(8 * 3600), .seconds(86_400),
        .seconds(7 * 86_400), .seconds(30 * 86_400),
    ]

    /// For how long after a count of tokens it may be taken for the present one: twice the longest time between two within a day.
    package static let tokenCountValidity = Duration.seconds(600)

    /// Groups without anything in them.
    package static var emptyAges: [AgeGroup] { ageLimits.map { AgeGroup(upTo: $0) } + [AgeGroup(upTo: nil)] }

    /// The windows that may be asked for.
    package static let windows = Duration.seconds(3600)...Duration.seconds(30 * 86_400)

    /// The step of a window: at most 120 of them.
    package static func step(for window: Duration) -> Duration {
        let steps = [60, 300, 900, 3600, 6 * 3600].map { Duration.seconds($0) }
        return steps.first { window / $0 <= 120 } ?? .seconds(6 * 3600)
    }
}

extension RegistryStatistics.AgeGroup: JSONEncodable {
    /// Writes `{upTo, count}`.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("upTo", ifPresent: upTo)
            json.member("count", count)
        }
    }
}

extension RegistryStatistics: JSONEncodable {
    /// Writes everything.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("computedAt", computedAt)
            json.member("estimated", isEstimated)
            json.counts("activities", activities)
            json.member("activityAges", activityAges)
            json.array("tokens") { json in
                for entry in tokens {
                    json.object { json in
                        json.member("kind", entry.kind.name)
                        json.member("count", entry.count)
                        json.member("ages", entry.ages)
                    }
                }
            }
            json.member("window", window)
            json.member("step", step)
            json.steps("events", steps)
            json.steps("tokenCounts", tokenCounts)
        }
    }
}

extension JSONWriter {
    /// Writes a member that is an array of `{at, counts}`.
    fileprivate mutating func steps(_ name: String, _ steps: [RegistryStatistics.Step]) {
        array(name) { json in
            for step in steps {
                json.object { json in
                    json.member("at", step.start)
                    json.counts("counts", step.counts)
                }
            }
        }
    }

    /// Writes a member that is an object of counts, in the order of their names.
    fileprivate mutating func counts(_ name: String, _ counts: [String: Int]) {
        object(name) { json in
            for (key, count) in counts.sorted(by: { $0.key < $1.key }) { json.member(key, count) }
        }
    }
}
