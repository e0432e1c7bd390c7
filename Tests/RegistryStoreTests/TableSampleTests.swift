import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Large tables are counted by samples, with a constant cost and a small error.
@Suite struct TableSampleTests {
    @Test func `A large registry is sampled`() async throws {
        let count = TestScale.isLong ? 1_000_000 : 100_000
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope, count: count)
        try await database.script("VACUUM ANALYZE activities, token_values, installation_tokens")
        let counts = try await database.registry.counts(in: scope)
        let active = counts[.activities(.active)]
        // Only an exact count equals the number.
        #expect((count * 8 / 10...count * 12 / 10).contains(active) && active != count, "\(active)")
        #expect(counts.isEstimated)
        #expect(counts[.tokens(.update, .current)] == active)
        let sample: QueryValues = ["ages": RegistryStatistics.ageLimits, "percent": 1.0, "scope": scope.id]
        for statement in [Query("counts.count-activities")(sample), Query("counts.count-tokens")(sample)] {
            let plan = try await QueryPlan.plan(of: statement, in: database)
            #expect(plan.text.contains("Sample Scan") && plan.wholeReads == [], "\(plan.text)")
        }
        let read = Query("sweep.count-overdue")(["scope": scope.id, "limit": 1])
        let lag = try await QueryPlan.plan(of: read, in: database)
        #expect(!lag.wholeReads.contains("activities"), "\(lag.text)")
    }

    @Test func `Few rows among many of another app are counted exactly`() async throws {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        try await QueryPlanFilling.fill(database, try await database.scope(), count: 100_000)
        let small = try await database.scope("com.example.small")
        for number in 1...3 {
            let registration = ActivityRegistration.sample(token: .sample(number), observedAt: .minutesAgo(5))
            _ = try await database.registry.register(registration, as: .sample("a\(number)"), in: small, by: "test")
        }
        let counts = try await database.registry.counts(in: small)
        #expect(counts[.activities(.active)] == 3 && counts[.tokens(.update, .current)] == 3 && !counts.isEstimated)
    }

    /// Postgres may have analyzed an empty table; counting must not read the whole table because of that.
    @Test func `The size of a table that has grown since its last ANALYZE is estimated`() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await database.pool.withSession { session in
            try session.simple("VACUUM ANALYZE activities")
            _ = try session.execute(QueryPlanFilling.activityRows(scope, 1...20_000))
        }
        func estimate() async throws -> Double {
            try await database.pool.withSession { try TableSizes.rows(of: "activities", holding: scope.id, $0) }
        }
        #expect(try await (5000...80_000).contains(estimate()))
        try await database.script("ANALYZE activities")
        #expect(try await (19_000...21_000).contains(estimate()))
        try await database.script("TRUNCATE activities CASCADE")
        #expect(try await estimate() == 0)
    }
}
