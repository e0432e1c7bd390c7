import Foundation
import PostgresDriver
import RegistryCore
import TestSupport

@testable import RegistryStore

/// The cost of a call for Postgres and the service, taken in ways that do not depend on how busy the machine is.
struct Cost: CustomStringConvertible {
    /// Pages of tables and indexes that Postgres looked at.
    let pages: Int
    /// The time that Postgres's one connection ran on a core.
    let postgres: Duration
    /// The same for the whole process of the test: too much where other tests run beside it.
    let service: Duration

    /// As figures are told.
    var description: String {
        "\(pages) pages, Postgres \(postgres.inMilliseconds), service \(service.inMilliseconds)"
    }

    static func least(_ costs: [Cost]) -> Cost {
        Cost(
            pages: costs.map(\.pages).min() ?? 0,
            postgres: costs.map(\.postgres).min() ?? .zero,
            service: costs.map(\.service).min() ?? .zero
        )
    }
}

/// A registry with one connection, whose work can be told from that of all others.
struct CostMeter {
    let database: TestDatabase
    let scope: Scope

    /// - Parameter keepsPlans: whether plans are kept however old they are.
    static func make(keepsPlans: Bool = false) async throws -> CostMeter {
        let database = try await TestDatabase.make(
            maximumConnections: 1,
            requestTimeout: .seconds(600),
            isAlone: true,
            keepsPlans: keepsPlans
        )
        try await database.pool.withSession { try $0.simple("SET statement_timeout = 0") }
        return CostMeter(database: database, scope: try await database.scope())
    }

    /// The least cost of some runs, after one that prepares statements and fills caches.
    ///
    /// - Parameter runs: 1 for what can be done only once, without a run before.
    func measure(runs: Int = 3, _ call: () async throws -> Void) async throws -> Cost {
        var costs: [Cost] = []
        for run in 0...(runs == 1 ? 0 : runs) {
            let before = try await reading()
            try await call()
            let after = try await reading()
            guard runs == 1 || run > 0 else { continue }
            costs.append(
                Cost(
                    pages: after.pages - before.pages,
                    postgres: after.postgres - before.postgres,
                    service: after.service - before.service
                )
            )
        }
        return .least(costs)
    }

    /// As after autovacuum came by.
    func analyze() async throws {
        try await database.registry.analyzeTables()
        // Dead rows count as pages that are read: how many there are would turn on whether autovacuum came by.
        try await database.pool.withSession { try $0.simple("VACUUM ANALYZE") }
    }

    private typealias Reading = (pages: Int, postgres: Duration, service: Duration)

    private func reading() async throws -> Reading {
        let (pages, process) = try await database.pool.withSession { session in
            // A backend's counts become visible at the end of a transaction.
            _ = try session.execute("SELECT pg_stat_force_next_flush()::text")
            return try session.execute(
                """
                SELECT sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
                    + coalesce(idx_blks_read, 0))::bigint, pg_backend_pid()
                FROM pg_statio_user_tables WHERE schemaname = current_schema()
                """
            )[0].decode(Int.self, Int.self)
        }
        return (pages, Self.runtime(ofProcess: process), Self.ownRuntime)
    }

    /// The first number of `schedstat` is the time on a core, in nanoseconds.
    private static func runtime(ofProcess process: Int) -> Duration {
        let text = (try? String(contentsOfFile: "/proc/\(process)/schedstat", encoding: .utf8)) ?? ""
        return .nanoseconds(text.split(separator: " ").first.flatMap { Int64($0) } ?? 0)
    }

    private static var ownRuntime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// How the cost of a call may grow with rows that a stranger can make.
enum CostGrowth: String {
    /// By a page or a number: a thousand rows cost what ten thousand do.
    case bounded
    /// One pass over them in order, or what the call itself sends, shows or writes.
    case onePass = "one pass"

    /// How many times as much ten times as many rows may cost.
    var factor: Double { self == .bounded ? 3 : 15 }
}

/// A call whose cost is measured.
struct CostedCall {
    let name: String
    let growth: CostGrowth
    /// How often it can be made.
    var runs = 3
    let call: @Sendable (CostMeter) async throws -> Void

    init(
        _ name: String,
        _ growth: CostGrowth,
        runs: Int = 3,
        _ call: @escaping @Sendable (CostMeter) async throws -> Void
    ) {
        self.name = name
        self.growth = growth
        self.runs = runs
        self.call = call
    }
}

extension Duration {
    /// To a tenth of a millisecond.
    fileprivate var inMilliseconds: String {
        let tenths = Int(self / .microseconds(100))
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
