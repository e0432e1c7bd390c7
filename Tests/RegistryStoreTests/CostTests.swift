import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The cost that one caller can cause: each call beside 10, 100, 1,000 and 10,000 rows that a stranger can make costs
/// Postgres no more than a page, a bound or one ordered pass explains.
@Suite(.timeLimit(.minutes(30))) struct CostTests {
    /// Rows that a stranger can make, and the calls whose cost might turn on them.
    struct Subject: CustomTestStringConvertible {
        let name: String
        /// Makes more of the rows; it is given the numbers of the new ones.
        let fill: @Sendable (CostMeter, ClosedRange<Int>) async throws -> Void
        let calls: [CostedCall]

        var testDescription: String { name }
    }

    private static let sizes = [10, 100, 1000, 10_000]

    @Test("Cost grows by pages and passes only", arguments: subjects) func costGrowsByPagesAndPassesOnly(
        _ subject: Subject
    ) async throws {
        var costs: [[Cost]] = subject.calls.map { _ in [] }
        let growing = try await CostMeter.make()
        var filled = 0
        // A call that consumes its rows is measured on rows of its own.
        let isOnce = subject.calls.allSatisfy { $0.runs == 1 }
        for size in Self.sizes {
            let meter = isOnce && filled > 0 ? try await CostMeter.make() : growing
            try await subject.fill(meter, (isOnce ? 1 : filled + 1)...size)
            filled = size
            try await meter.analyze()
            for (index, call) in subject.calls.enumerated() {
                costs[index].append(try await meter.measure(runs: call.runs) { try await call.call(meter) })
            }
        }
        for (call, costs) in zip(subject.calls, costs) {
            Self.report(subject.name, call, costs)
            let (thousand, tenThousand) = (costs[costs.count - 2], costs[costs.count - 1])
            let factor = call.growth.factor
            #expect(Double(tenThousand.pages) <= factor * Double(thousand.pages) + 100, "\(subject.name), \(call.name)")
            // Processor time turns on what else the machine does; what grows with the square would be 100 times as much.
            #expect(
                tenThousand.postgres <= thousand.postgres * (2 * factor) + .milliseconds(30),
                "\(subject.name), \(call.name): \(thousand.postgres), \(tenThousand.postgres)"
            )
        }
    }

    private static func report(_ subject: String, _ call: CostedCall, _ costs: [Cost]) {
        let columns = zip(sizes, costs).map { size, cost in
            "\(size): \(cost)"
        }
        print("figure: cost of \(subject), \(call.name) (\(call.growth.rawValue)) \(columns.joined(separator: "; "))")
    }
}

// MARK: Subjects

extension CostTests {
    private static let phone = CostMeter.phone
    private static let alias = Alias.sample("liveactivityId", "match-7")

    /// Installations that bear the alias and share a start token.
    private static let addSharingInstallations: @Sendable (CostMeter, ClosedRange<Int>) async throws -> Void = {
        try await $0.database.addInstallations($1, under: alias, startToken: .sample(7), in: $0.scope)
    }

    private static func events(_ change: @escaping @Sendable (inout EventFilter) -> Void)
        -> @Sendable (CostMeter)
        async throws -> Void
    {
        { meter in
            var filter = EventFilter()
            change(&filter)
            let found = try await meter.database.registry.events(filter, limit: 100, in: meter.scope)
            #expect(!found.items.isEmpty)
        }
    }

    static let subjects: [Subject] = [
        Subject(
            name: "token values of one installation",
            fill: { meter, numbers in
                try await meter.register(PushToken.sample(1), of: phone)
                try await meter.database.addValues(numbers, of: phone, in: meter.scope)
            },
            calls: [
                CostedCall("register another", .bounded) { try await $0.register(.random, of: phone) },
                CostedCall("its record", .bounded) {
                    _ = try await $0.database.registry.installation(phone, in: $0.scope)
                },
                CostedCall("stale", .bounded) {
                    _ = try await $0.database.registry.staleTokens(limit: 100, in: $0.scope)
                },
            ]
        ),
        Subject(
            name: "running activities under one alias",
            fill: { try await $0.database.addActivities($1, under: alias, at: .minutesAgo(1), in: $0.scope) },
            calls: [
                CostedCall("page", .bounded) {
                    _ = try await $0.database.registry.activities(under: alias, limit: 100, in: $0.scope)
                },
                CostedCall("resolve 300 times the same", .bounded) {
                    let aliases = [Alias](repeating: alias, count: 300)
                    let found = try await $0.database.registry.resolve(aliases, limitPerAlias: 1000, in: $0.scope)
                    #expect(found.map(\.activities.count).reduce(0, +) <= Registry.mostResolved)
                },
                CostedCall("explain", .bounded) {
                    _ = try await $0.database.registry.explain(alias, limit: 100, in: $0.scope)
                },
                CostedCall("search", .bounded) {
                    let search = ActivitySearch.alias(kind: nil, value: alias.value)
                    _ = try await $0.database.registry.findActivities([search], limit: 100, in: $0.scope)
                },
                CostedCall("plan", .bounded) { try await $0.plan(alias, limit: 100) },
                CostedCall("stream of all", .onePass) { meter in
                    try await meter.database.registry.forEachRange(
                        of: alias,
                        after: 0,
                        in: meter.scope,
                        rangeSize: 500,
                        prepare: \.count,
                        receive: { _ in }
                    )
                },
            ]
        ),
        Subject(
            name: "activities under one alias that are not handed out",
            fill: { meter, numbers in
                try await meter.database.addActivities(
                    numbers,
                    of: phone,
                    under: alias,
                    at: .minutesAgo(5),
                    in: meter.scope
                )
                try await meter.applyFullState(listing: 0, of: phone)
            },
            calls: [
                CostedCall("page", .onePass) {
                    let found = try await $0.database.registry.activities(under: alias, limit: 100, in: $0.scope)
                    #expect(found.isEmpty)
                },
                CostedCall("explain", .bounded) {
                    _ = try await $0.database.registry.explain(alias, limit: 100, in: $0.scope)
                },
            ]
        ),
        Subject(
            name: "activities of one installation",
            fill: { meter, numbers in
                let others = Alias.sample("liveactivityId", "others")
                try await meter.database.addActivities(
                    numbers,
                    of: phone,
                    under: others,
                    at: .minutesAgo(1),
                    in: meter.scope
                )
                try await meter.put([alias], of: phone)
            },
            calls: [CostedCall("plan", .bounded) { try await $0.plan(alias, limit: 100) }]
        ),
        Subject(
            name: "ended by alias",
            fill: { try await $0.database.addActivities($1, under: alias, at: .minutesAgo(1), in: $0.scope) },
            calls: [
                CostedCall("end all", .onePass, runs: 1) {
                    _ = try await $0.database.registry.endAll(under: alias, in: $0.scope, by: "test")
                }
            ]
        ),
        Subject(
            name: "ended by log-out",
            fill: { try await $0.database.addActivities($1, of: phone, at: .minutesAgo(1), in: $0.scope) },
            calls: [
                CostedCall("log-out", .onePass, runs: 1) {
                    try await $0.database.registry.logOut(phone, observedAt: nil, in: $0.scope, by: "test")
                }
            ]
        ),
        Subject(
            name: "dismissed by a full state",
            fill: { try await $0.database.addActivities($1, of: phone, at: .minutesAgo(1), in: $0.scope) },
            calls: [CostedCall("full state", .onePass, runs: 1) { try await $0.applyFullState(listing: 1, of: phone) }]
        ),
        Subject(
            name: "events",
            fill: { meter, numbers in
                try await meter.database.addEvents(numbers.count, of: phone, under: alias, in: meter.scope)
            },
            calls: [
                CostedCall("of an activity", .bounded, events { $0.activityID = .sample("activity") }),
                CostedCall("of a rare type", .bounded, events { $0.type = "taken-over" }),
                CostedCall("of an installation", .onePass, events { $0.installation = phone }),
                CostedCall("of a user", .onePass, events { $0.subject = "u-7" }),
                CostedCall("of an alias", .onePass, events { $0.alias = alias }),
                CostedCall("of all", .onePass, events { _ in }),
            ]
        ),
        Subject(
            name: "installations under one alias",
            fill: addSharingInstallations,
            calls: [
                CostedCall("page of start tokens", .bounded) {
                    let found = try await $0.database.registry.tokens(under: alias, .start, limit: 10, in: $0.scope)
                    #expect(found.count == 10)
                },
                CostedCall("explain", .bounded) {
                    _ = try await $0.database.registry.explain(alias, limit: 100, in: $0.scope)
                },
                CostedCall("search of the token that they share", .bounded) { meter in
                    let prefix = try await meter.digest(of: .sample(7))
                    _ = try await meter.database.registry.findInstallations(
                        beginningWith: Array(prefix.prefix(4)),
                        limit: 100,
                        in: meter.scope
                    )
                },
                CostedCall("plan", .bounded) { try await $0.plan(alias, limit: 10) },
                CostedCall("list", .bounded) {
                    _ = try await $0.database.registry.installations(limit: 100, in: $0.scope)
                },
            ]
        ),
        Subject(
            name: "installations that share a start token",
            fill: addSharingInstallations,
            calls: [
                CostedCall("report", .bounded, runs: 1) { try await $0.reportSharedToken() },
                CostedCall("stale, quarantined", .bounded, runs: 1) {
                    var filter = StaleFilter()
                    filter.reason = .quarantined
                    let found = try await $0.database.registry.staleTokens(filter, limit: 5, in: $0.scope)
                    #expect(found.items.count == 5)
                },
                CostedCall("release", .bounded, runs: 1) {
                    let released = try await $0.database.registry.releaseAll(in: $0.scope, by: "test")
                    #expect(released == 1)
                },
                CostedCall("register it as a device token", .bounded, runs: 1) {
                    try await $0.register(.sample(7), of: phone)
                },
                CostedCall("report after that", .bounded, runs: 1) { try await $0.reportSharedToken() },
            ]
        ),
        Subject(
            name: "installations under one alias without a token",
            fill: { try await $0.database.addInstallations($1, under: alias, startToken: nil, in: $0.scope) },
            calls: [
                CostedCall("page of start tokens", .onePass) {
                    _ = try await $0.database.registry.tokens(under: alias, .start, limit: 100, in: $0.scope)
                }
            ]
        ),
    ]
}
