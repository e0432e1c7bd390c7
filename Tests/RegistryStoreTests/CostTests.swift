import Foundation
import PostgresDriver
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

/// The cost of a call for Postgres, measured independently of the machine's load.
struct Cost: CustomStringConvertible {
    let pages: Int
    /// The CPU time of the backend.
    let time: Duration

    var description: String { "\(pages) pages, \(Int(time / .microseconds(100)) / 10) ms" }
}

/// A registry with one connection, so its work can be measured separately.
struct CostMeter: Fixture {
    let database: TestDatabase
    var scope: Scope
    var count: Int

    static func make(count: Int = 0, keepsPlans: Bool = false) async throws -> CostMeter {
        let database = try await TestDatabase.make(
            maximumConnections: 1,
            requestTimeout: .seconds(600),
            isAlone: true,
            keepsPlans: keepsPlans
        )
        try await database.script("SET statement_timeout = 0")
        return CostMeter(database: database, scope: try await database.scope(), count: count)
    }

    /// The least cost of several runs, after a first run that fills caches.
    ///
    /// - Parameter runs: 1 for a call that succeeds only once; the first run is omitted.
    func measure(runs: Int = 3, _ call: () async throws -> Void) async throws -> Cost {
        var costs: [Cost] = []
        for run in 0...(runs == 1 ? 0 : runs) {
            let before = try await reading()
            try await call()
            let after = try await reading()
            guard runs == 1 || run > 0 else { continue }
            costs.append(Cost(pages: after.pages - before.pages, time: after.time - before.time))
        }
        return Cost(pages: costs.map(\.pages).min() ?? 0, time: costs.map(\.time).min() ?? .zero)
    }

    func analyze() async throws {
        try await registry.analyzeTables()
        // Dead rows count as pages read, and their number would depend on autovacuum.
        try await database.script("VACUUM ANALYZE")
    }

    private func reading() async throws -> Cost {
        let (pages, process) = try await database.pool.withSession { session in
            // A backend publishes its counts at the end of a transaction.
            _ = try session.execute("SELECT pg_stat_force_next_flush()::text")
            return try session.execute(
                """
                SELECT sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
                    + coalesce(idx_blks_read, 0))::bigint, pg_backend_pid()
                FROM pg_statio_user_tables WHERE schemaname = current_schema()
                """
            )[0].decode(Int.self, Int.self)
        }
        // The first number of `schedstat` is the time on a CPU in nanoseconds.
        let text = (try? String(contentsOfFile: "/proc/\(process)/schedstat", encoding: .utf8)) ?? ""
        return Cost(pages: pages, time: .nanoseconds(text.split(separator: " ").first.flatMap { Int64($0) } ?? 0))
    }
}

extension CostTable {
    typealias Make = @Sendable (CostMeter) async throws -> Void

    static let phone = InstallationHash.sample(1)
    static let alias = Alias.sample("liveactivityId", "match-7")

    static func report(_ token: @escaping @Sendable (Int) -> Int) -> Make {
        { meter in
            let reports = (1...meter.count).map { number in
                FeedbackReport(
                    token: .sample(token(number)),
                    status: number % 2 == 0 ? 410 : 200,
                    timestamp: .minutesAgo(Double(number) / 1000)
                )
            }
            _ = try await meter.registry.apply(reports, in: meter.scope, by: "sender")
        }
    }

    static func resolve(_ value: @escaping @Sendable (Int) -> String) -> Make {
        { meter in
            let aliases = (1...meter.count).map { Alias.sample("orderId", value($0)) }
            let found = try await meter.registry.resolve(aliases, limitPerAlias: 10, in: meter.scope)
            #expect(found.map(\.activities.count).reduce(0, +) == meter.count)
        }
    }

    /// Like an import: many concurrent requests, in batches of any size.
    static func register(_ activity: @escaping @Sendable (Int) -> Int) -> Make {
        { meter in
            _ = try await concurrently(1...meter.count) { number in
                _ = try? await meter.activity("new-\(activity(number))").register(
                    number,
                    at: .minutesAgo(Double(10_000 - number) / 100),
                    aliases: [.sample("orderId", "\(activity(number))")]
                )
            }
        }
    }

    static func fullState(activity: @escaping @Sendable (Int) -> Int, token: @escaping @Sendable (Int) -> Int) -> Make {
        { meter in
            let items = (1...meter.count).map { number in
                FullState.Item(
                    activityID: .sample("new-\(activity(number))"),
                    registration: .sample(token: .sample(token(number)))
                )
            }
            let answer = try await meter.tellFullState(of: phone, items, at: .minutesAgo(1))
            #expect(answer.results.count == meter.count)
        }
    }

    static func events(_ change: @escaping @Sendable (inout EventFilter) -> Void) -> Make {
        { meter in
            var filter = EventFilter()
            change(&filter)
            let found = try await meter.registry.events(filter, limit: 100, in: meter.scope)
            #expect(!found.items.isEmpty)
        }
    }

    static let endAll: Make = { meter in
        let ended = try await meter.registry.endAll(under: alias, in: meter.scope, by: "test")
        #expect(ended == meter.count)
    }

    static func sweep(_ task: SweepTask) -> Make {
        { meter in
            let swept = try await meter.registry.sweep(task, limit: meter.count, in: meter.scope)
            #expect(swept.count == meter.count)
        }
    }

    static func erase(_ subject: ErasureSubject) -> Make {
        { meter in
            let counts = try await meter.erase(subject)
            #expect(counts.activities + counts.records >= meter.count)
        }
    }

    /// Twenty days old, and ended for longer than the tombstone retention.
    static let addTombstones: Make = { meter in
        try await meter.addActivities(under: alias, 20 * 24 * 60)
        _ = try await meter.registry.sweep(.expiry, limit: meter.count, in: meter.scope)
        try await meter.database.script("UPDATE activities SET touched_at = earlier(touched_at, '20 days')")
    }
}

extension CostMeter {
    func addActivities(
        of installation: InstallationHash? = nil,
        under alias: Alias? = nil,
        _ minutes: Double = 1
    ) async throws {
        try await database.addActivities(1...count, of: installation, under: alias, at: .minutesAgo(minutes), in: scope)
    }

    func addInstallations(startToken: PushToken?) async throws {
        try await database.addInstallations(1...count, under: CostTable.alias, startToken: startToken, in: scope)
    }

    func registerDeviceToken(_ token: Int) async {
        _ = try? await installation(1).register(token, in: TestInstallation.device, at: nil)
    }

    func plan(limit: Int) async throws {
        var request = PlanRequest(
            alias: CostTable.alias,
            to: [CostTable.alias],
            attributesType: TestInstallation.types[1]
        )
        request.limit = limit
        let page = try await registry.plan(request, in: scope, by: "sender")
        #expect(!page.entries.isEmpty)
    }

    func reportSharedToken() async throws { #expect(try await suspect([7]) == [.quarantined]) }

    func applyFullState(listing count: Int) async throws {
        let items = (0..<count).map {
            FullState.Item(activityID: .sample("new-\($0)"), registration: .sample(token: .sample(1 << 30 + $0)))
        }
        try await tellFullState(of: CostTable.phone, items, at: .minutesAgo(0))
    }

    func useName(_ registrations: Int, endEvery interval: Int = 20, isTimed: Bool) async throws {
        let identity = identity("match-7")
        for number in 1...registrations {
            _ = try? await identity.post(.random(in: 1..<1 << 40), at: isTimed ? .minutesAgo(0) : nil)
            if number % interval == 0 { try await identity.end(at: isTimed ? .minutesAgo(0) : nil) }
        }
    }
}
