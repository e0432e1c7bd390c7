import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The cost that one caller can cause: each call of ``CostTable`` reads no more pages than its limit.
@Suite(.timeLimit(.minutes(30))) struct CostTests {
    enum Tables: String, CaseIterable {
        /// Postgres has no statistics of the tables.
        case fresh
        /// The plans were made for a thousandth of the rows.
        case grown
    }

    @Test(arguments: CostTable.strangers)
    func `A call stays within its page limit next to 10,000 rows of another app`(row: CostTable.Row) async throws {
        let meter = try await CostMeter.make(count: 10_000)
        try await row.fill(meter)
        try await meter.analyze()
        for call in row.calls { try await Self.check(call, meter, of: row.name) }
    }

    @Test(arguments: CostTable.batches, Tables.allCases)
    func `A batch of 1,000 items stays within its page limit`(row: CostTable.Row, tables: Tables) async throws {
        let meter = try await CostMeter.make(count: 1000, keepsPlans: tables == .grown)
        try await meter.database.switchOffAutovacuum()
        if tables == .grown {
            var few = meter
            // Uses another environment, so that these rows do not conflict.
            (few.count, few.scope) = (10, Scope(app: meter.scope.app, environment: .production))
            try await row.fill(few)
            for call in row.calls { try await call.make(few) }
            let (numbers, others) = (100_001...110_000, Alias.sample("orderId", "others"))
            try await meter.database.addActivities(numbers, at: .minutesAgo(1), in: meter.scope)
            try await meter.database.addInstallations(numbers, under: others, startToken: nil, in: meter.scope)
        }
        try await row.fill(meter)
        for call in row.calls { try await Self.check(call, meter, of: "\(row.name) on \(tables) tables") }
    }

    private static func check(_ call: CostTable.Call, _ meter: CostMeter, of row: String) async throws {
        let cost = try await meter.measure(runs: call.isOnce ? 1 : 3) { try await call.make(meter) }
        print("figure: cost of \(row), \(call.name): \(cost), at most \(call.pages)")
        #expect(cost.pages <= call.pages, "\(row), \(call.name)")
        // A nested loop in memory reads no pages. Postgres takes 1 to 4 µs per page.
        #expect(cost.time <= .milliseconds(100) + .microseconds(10) * call.pages, "\(row), \(call.name)")
    }
}
