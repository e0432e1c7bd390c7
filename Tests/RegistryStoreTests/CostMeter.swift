import Foundation
import PostgresDriver
import RegistryCore
import TestSupport

@testable import RegistryStore

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
