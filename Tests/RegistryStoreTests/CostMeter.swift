import Foundation
import PostgresDriver
import RegistryCore
import TestSupport

@testable import RegistryStore

/// The cost of a call for Postgres, measured in ways that do not depend on how busy the machine is.
struct Cost: CustomStringConvertible {
    /// Pages of tables and indexes that Postgres looked at.
    let pages: Int
    /// The time that Postgres's one connection ran on a core.
    let time: Duration

    var description: String { "\(pages) pages, \(Int(time / .microseconds(100)) / 10) ms" }
}

/// A registry with one connection, whose work can be told from that of all others.
struct CostMeter {
    let database: TestDatabase
    var scope: Scope
    /// How many rows or items a test makes.
    var count: Int

    var registry: Registry { database.registry }

    /// - Parameter keepsPlans: whether plans are kept however old they are.
    static func make(count: Int = 0, keepsPlans: Bool = false) async throws -> CostMeter {
        let database = try await TestDatabase.make(
            maximumConnections: 1,
            requestTimeout: .seconds(600),
            isAlone: true,
            keepsPlans: keepsPlans
        )
        try await database.pool.withSession { try $0.simple("SET statement_timeout = 0") }
        return CostMeter(database: database, scope: try await database.scope(), count: count)
    }

    /// The least cost of some runs, after one that prepares statements and fills caches.
    ///
    /// - Parameter runs: 1 for a call that succeeds only once; there is no run before it.
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

    /// As after autovacuum came by.
    func analyze() async throws {
        try await registry.analyzeTables()
        // Dead rows count as pages that are read: how many there are would turn on whether autovacuum came by.
        try await database.pool.withSession { try $0.simple("VACUUM ANALYZE") }
    }

    private func reading() async throws -> Cost {
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
        // The first number of `schedstat` is the time on a core, in nanoseconds.
        let text = (try? String(contentsOfFile: "/proc/\(process)/schedstat", encoding: .utf8)) ?? ""
        return Cost(pages: pages, time: .nanoseconds(text.split(separator: " ").first.flatMap { Int64($0) } ?? 0))
    }
}
