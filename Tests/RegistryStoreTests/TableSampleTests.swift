import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Large tables are counted by samples, with a constant cost and a small error.
@Suite struct TableSampleTests {
    @Test func `The estimates for a large registry are near the counts`() async throws {
        let count = TestScale.isLong ? 400_000 : 100_000
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope, count: count)
        // Two events per activity; one in a hundred has a rare type.
        try await database.pool.withSession { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.execute(
                """
                INSERT INTO events (scope_id, drop_on, recorded_at, type, who, activity_id)
                SELECT a.scope_id, current_date + 90, now() - (kinds.n * interval '1 hour'),
                    CASE WHEN kinds.n = 1 THEN 'registered' WHEN a.activity_key % 100 = 0 THEN 'dropped'
                        ELSE 'rotated' END, 'test', a.activity_id
                FROM (VALUES (1), (2)) AS kinds (n) CROSS JOIN activities a
                """
            )
            try session.simple("VACUUM ANALYZE activities, token_values, installation_tokens, events")
        }
        let statistics = try await database.registry.statistics(over: .seconds(86_400), in: scope)
        #expect(statistics.isEstimated)
        // The sample has each page with a probability of 1/16 in the long run: about 1,250 of 20,000 pages. Four standard
        // deviations are 11 percent.
        func isNear(_ estimate: Int?, _ number: Int, _ percent: Int) -> Bool {
            let most = number * (TestScale.isLong ? percent : 20) / 100
            return estimate.map { (number - most...number + most).contains($0) } ?? false
        }
        let active = statistics.activities["active"]
        #expect(isNear(active, count, 11), "\(active ?? 0)")
        // An estimate practically never equals the exact number.
        #expect(active != count)
        let tokens = Dictionary(uniqueKeysWithValues: statistics.tokens.map { ($0.kind, $0.count) })
        #expect(tokens[.update] == active)
        // A page has tokens of one kind, so a few hundred pages give each kind's count within about a tenth.
        #expect(isNear(tokens[.start], count / 3 * 2, 10), "\(tokens)")
        let dropped = statistics.steps.compactMap { $0.counts["dropped"] }.reduce(0, +)
        #expect(dropped == count / 100)
        let registered = statistics.steps.compactMap { $0.counts["registered"] }.reduce(0, +)
        #expect(isNear(registered, count, 10), "\(registered)")
    }

    @Test func `Few rows among many of another app are counted exactly`() async throws {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        try await QueryPlanFilling.fill(database, try await database.scope(), count: 100_000)
        let small = try await database.scope("com.example.small")
        for number in 1...3 { try await database.registry.registerSample("a\(number)", token: number, in: small) }
        let counts = try await database.registry.counts(in: small)
        #expect(counts[.activities(.active)] == 3 && counts[.tokens(.update, .current)] == 3 && !counts.isEstimated)
    }

    /// Postgres may have analyzed an empty table; counting must not read the whole table because of that.
    @Test func `The size of a table that has grown since its last ANALYZE is estimated`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        try await database.script("VACUUM ANALYZE activities")
        try await database.run(QueryPlanFilling.activityRows(scope, 1...20_000))
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
