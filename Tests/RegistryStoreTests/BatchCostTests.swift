import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The cost of a batch to Postgres grows with its items and no faster, on tables of which Postgres knows nothing yet: such
/// as were just made, and such as have grown a thousandfold since the plans were made. Autovacuum is off, so none comes
/// to help.
@Suite(.timeLimit(.minutes(30))) struct BatchCostTests {
    /// A call about many items, and the rows that it finds.
    struct Batch: CustomTestStringConvertible {
        let name: String
        var fill: @Sendable (CostMeter, Int) async throws -> Void = { _, _ in }
        let call: @Sendable (CostMeter, Int) async throws -> Void

        var testDescription: String { name }
    }

    /// How many rows there are already, beside those of the batch, when it comes.
    enum Tables: String, CaseIterable {
        case fresh, grown
    }

    @Test("Costs grow with the items only", arguments: batches, Tables.allCases)
    func costsGrowWithTheItemsOnly(_ batch: Batch, _ tables: Tables) async throws {
        var costs: [Cost] = []
        for count in [100, 1000] {
            // The lesser of two: what else the machine does counts, too.
            let cost = Cost.least([
                try await cost(of: batch, count, tables), try await cost(of: batch, count, tables),
            ])
            print("figure: cost of a batch on \(tables.rawValue) tables, \(batch.name), \(count) items: \(cost)")
            costs.append(cost)
        }
        // An index is deeper by then, too; what grows with the square would be a hundred times as much.
        #expect(costs[1].pages <= 25 * costs[0].pages + 500, "\(batch.name)")
        #expect(costs[1].postgres <= costs[0].postgres * 25 + .milliseconds(50), "\(batch.name)")
    }

    private func cost(of batch: Batch, _ count: Int, _ tables: Tables) async throws -> Cost {
        let meter = try await CostMeter.make(keepsPlans: tables == .grown)
        try await meter.database.switchOffAutovacuum()
        if tables == .grown {
            // Plans are made by a batch of few, in another environment, so that nothing of it is in the way.
            let few = meter.inProduction
            try await batch.fill(few, 10)
            try await batch.call(few, 10)
            let scope = meter.scope
            try await meter.database.addActivities(100_001...110_000, at: .minutesAgo(1), in: scope)
            let others = Alias.sample("orderId", "others")
            try await meter.database.addInstallations(100_001...110_000, under: others, startToken: nil, in: scope)
        }
        try await batch.fill(meter, count)
        return try await meter.measure(runs: 1) { try await batch.call(meter, count) }
    }
}

// MARK: Batches

extension BatchCostTests {
    private static let alias = Alias.sample("liveactivityId", "match-7")

    /// Running activities `bulk-…`, under an alias or each by itself, observed so many minutes ago.
    private static func running(under alias: Alias? = nil, _ minutes: Double = 1)
        -> @Sendable (CostMeter, Int)
        async throws -> Void
    {
        {
            try await $0.database.addActivities(1...$1, under: alias, at: .minutesAgo(minutes), in: $0.scope)
        }
    }

    /// The token of activity `bulk-…`.
    private static func token(_ number: Int) -> PushToken {
        PushToken(bytes: withUnsafeBytes(of: Int64(number).bigEndian) { Array($0) })
    }

    /// Reports of dead tokens and of ones that work.
    private static func report(_ token: @escaping @Sendable (Int) -> PushToken)
        -> @Sendable (CostMeter, Int)
        async throws -> Void
    {
        { meter, count in
            let reports = (1...count).map { number in
                FeedbackReport(
                    token: token(number),
                    status: number % 2 == 0 ? 410 : 200,
                    timestamp: .minutesAgo(Double(number) / 1000)
                )
            }
            _ = try await meter.database.registry.apply(reports, in: meter.scope, by: "sender")
        }
    }

    private static func resolve(_ value: @escaping @Sendable (Int) -> String)
        -> @Sendable (CostMeter, Int)
        async throws -> Void
    {
        { meter, count in
            let aliases = (1...count).map { Alias.sample("orderId", value($0)) }
            let found = try await meter.database.registry.resolve(aliases, limitPerAlias: 10, in: meter.scope)
            #expect(found.map(\.activities.count).reduce(0, +) == count)
        }
    }

    /// As an import does: many at once, in whatever batches they come to share.
    private static func register(_ activity: @escaping @Sendable (Int) -> Int)
        -> @Sendable (CostMeter, Int)
        async throws -> Void
    {
        { meter, count in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...count {
                    group.addTask {
                        let registration = ActivityRegistration.sample(
                            token: .sample(number),
                            observedAt: .minutesAgo(Double(10_000 - number) / 100),
                            aliases: [.sample("orderId", "\(activity(number))")]
                        )
                        let id = ActivityID.sample("new-\(activity(number))")
                        _ = try? await meter.database.registry.register(
                            registration,
                            as: id,
                            in: meter.scope,
                            by: "test"
                        )
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private static func fullState(_ activity: @escaping @Sendable (Int) -> Int)
        -> @Sendable (CostMeter, Int)
        async throws -> Void
    {
        { meter, count in
            let items = (1...count).map {
                FullState.Item(
                    activityID: .sample("new-\(activity($0))"),
                    registration: .sample(token: .sample($0))
                )
            }
            let state = FullState(observedAt: .minutesAgo(1), items: items)
            _ = try await meter.database.registry.apply(state, of: CostMeter.phone, in: meter.scope, by: "test")
        }
    }

    private static func sweep(_ task: SweepTask) -> @Sendable (CostMeter, Int) async throws -> Void {
        { meter, count in
            let swept = try await meter.database.registry.sweep(task, limit: count, in: meter.scope)
            #expect(swept == count)
        }
    }

    private static func erase(_ subject: ErasureSubject) -> @Sendable (CostMeter, Int) async throws -> Void {
        { meter, count in
            let counts = try await meter.database.registry.erase(subject, in: meter.scope, by: "admin")
            #expect(counts.activities + counts.records >= count)
        }
    }

    /// Twenty days old, and over for longer than they are remembered.
    private static let old: @Sendable (CostMeter, Int) async throws -> Void = { meter, count in
        try await running(under: alias, 20 * 24 * 60)(meter, count)
        _ = try await meter.database.registry.sweep(.expiry, limit: count, in: meter.scope)
        try await meter.database.pool.withSession { session in
            try session.simple("UPDATE activities SET touched_at = earlier(touched_at, '20 days')")
        }
    }

    private static let installations: @Sendable (CostMeter, Int) async throws -> Void = {
        try await $0.database.addInstallations(1...$1, under: alias, startToken: nil, in: $0.scope)
    }

    static let batches: [Batch] = [
        Batch(name: "reports of different tokens", fill: running(), call: report(token)),
        Batch(name: "reports of one token", fill: running(), call: report { _ in token(1) }),
        Batch(name: "resolve of different aliases", fill: register { $0 }, call: resolve { "\($0)" }),
        Batch(
            name: "resolve of one alias",
            fill: { meter, _ in try await register({ $0 })(meter, 1) },
            call: resolve { _ in "1" }
        ),
        Batch(name: "import of different activities", call: register { $0 }),
        Batch(name: "import of activities that come twice", call: register { ($0 + 1) / 2 }),
        Batch(name: "full state of different activities", call: fullState { $0 }),
        Batch(name: "full state of one activity", call: fullState { _ in 1 }),
        Batch(name: "end of an alias", fill: running(under: alias)) { meter, count in
            let ended = try await meter.database.registry.endAll(under: alias, in: meter.scope, by: "test")
            #expect(ended == count)
        },
        Batch(
            name: "plan of installations",
            fill: {
                try await $0.database.addInstallations(1...$1, under: alias, startToken: .sample(7), in: $0.scope)
            }
        ) { meter, count in
            var request = PlanRequest(alias: alias, attributesType: TestInstallation.types[1])
            request.limit = count
            let page = try await meter.database.registry.plan(request, in: meter.scope, by: "sender")
            #expect(page.entries.filter { $0.step.action == "start" }.count == count)
        },
        Batch(name: "sweep of expired activities", fill: running(under: alias, 9 * 60), call: sweep(.expiry)),
        Batch(name: "sweep of tombstones", fill: old, call: sweep(.tombstones)),
        Batch(name: "erasure of an alias of activities", fill: running(under: alias), call: erase(.alias(alias))),
        Batch(name: "erasure of an alias of installations", fill: installations, call: erase(.alias(alias))),
        Batch(
            name: "erasure of an installation",
            fill: { try await $0.database.addActivities($1, of: CostMeter.phone, at: .minutesAgo(1), in: $0.scope) },
            call: erase(.installation(CostMeter.phone))
        ),
    ]
}

extension CostMeter {
    /// The same in the other environment.
    fileprivate var inProduction: CostMeter {
        CostMeter(database: database, scope: Scope(app: scope.app, environment: .production))
    }
}
