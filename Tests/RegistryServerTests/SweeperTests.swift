import Logging
import PostgresDriver
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite struct SweeperTests {
    private let metrics = RecordedMetrics()

    private func sweeper(_ database: TestDatabase, _ logger: Logger = .silent) -> Sweeper {
        let registry = database.registry
        return Sweeper(registry: registry, interval: .seconds(60), logger: logger, metrics: metrics)
    }

    private func apps(_ count: Int, activities: [String] = ["a"], in database: TestDatabase) async throws -> [Scope] {
        var scopes: [Scope] = []
        for number in 0..<count {
            let scope = try await database.scope("com.example.app\(number)")
            for (token, activity) in activities.enumerated() {
                try await database.registry.registerSample(activity, token: token, minutesAgo: 5, in: scope)
            }
            scopes.append(scope)
        }
        let nineHoursAgo = "started_at = earlier(started_at, '9 hours'), expires_at = earlier(expires_at, '9 hours')"
        try await database.simple("UPDATE activities SET \(nineHoursAgo)")
        return scopes
    }

    private func sweptScopes(_ database: TestDatabase) async throws -> [Int64] {
        try await database.pool.withSession { session in
            try session.execute("SELECT scope_id FROM activities WHERE expiry_recorded_at IS NOT NULL ORDER BY 1")
                .decode(Int64.self)
        }
    }

    @Test func `The failure of one app does not stop the sweep of others`() async throws {
        let database = try await TestDatabase.make()
        let scopes = try await apps(4, in: database)
        try await database.simple(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE TRIGGER refusal BEFORE UPDATE ON activities FOR EACH ROW
                WHEN (new.scope_id = \(scopes[0].id)) EXECUTE FUNCTION refuse();
            """
        )
        await sweeper(database).sweepOnce()
        #expect(try await sweptScopes(database) == scopes.dropFirst().map(\.id))
        #expect(metrics.lastSweep?.isComplete == false)
        #expect(metrics.counter(.sweepFailures).value == 1)
        try await database.simple("DROP TRIGGER refusal ON activities")
        await sweeper(database).sweepOnce()
        #expect(try await sweptScopes(database) == scopes.map(\.id))
        #expect(metrics.lastSweep?.isComplete == true)
    }

    /// Without the default partition, the search for its rows fails. Counts are not a part of a complete sweep.
    @Test(arguments: [("events_default RENAME TO elsewhere", false), ("counts ADD CHECK (counted_at IS NULL)", true)])
    func `Partitions that cannot be created and failed counts stop no sweep`(_ fault: String, _ isComplete: Bool)
        async throws
    {
        let database = try await TestDatabase.make()
        let scopes = try await apps(2, in: database)
        _ = try await database.registry.renewEventPartitions()
        try await database.simple("ALTER TABLE \(fault)")
        await sweeper(database).sweepOnce()
        #expect(try await sweptScopes(database) == scopes.map(\.id))
        #expect(metrics.lastSweep?.isComplete == isComplete)
    }

    /// An interval of zero leaves time for one page of each part. If deletions are refused, one part fails.
    @Test(arguments: [(Duration.zero, false), (.seconds(60), false), (.seconds(60), true)])
    func `A backlog and a failing part delay no other part`(_ interval: Duration, _ isRefused: Bool) async throws {
        let database = try await TestDatabase.make()
        _ = try await apps(1, activities: ["a", "b", "c", "d"], in: database)
        try await database.simple(
            """
            UPDATE activities SET token = NULL, expiry_recorded_at = now(), expires_at = earlier(expires_at, '30 days')
                WHERE activity_id IN ('c', 'd');
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE TRIGGER refusal BEFORE DELETE ON activities FOR EACH ROW WHEN (\(isRefused)) EXECUTE FUNCTION refuse();
            """
        )
        let (registry, logger) = (database.registry, Logger.silent)
        await Sweeper(registry: registry, interval: interval, logger: logger, metrics: metrics, pageSize: 1).sweepOnce()
        let (left, tombstones) = (interval == .zero ? 1 : 0, isRefused ? 2 : interval == .zero ? 1 : 0)
        let count = { try await database.count("SELECT count(*) FROM activities WHERE \(unescaped: $0)") }
        #expect(try await count("expiry_recorded_at IS NULL") == left)
        #expect(try await count("activity_id IN ('c', 'd')") == tombstones)
        #expect(metrics.lastSweep?.isComplete == !isRefused)
    }

    /// Without Postgres, each attempt may take a request's whole timeout.
    @Test func `The sweep stops when every app fails`() async throws {
        let database = try await TestDatabase.make()
        _ = try await apps(12, in: database)
        try await database.simple("ALTER TABLE activities RENAME TO elsewhere")
        let log = RecordedLog()
        await sweeper(database, log.logger).sweepOnce()
        let failures = log.lines.filter { $0.contains("a part of a sweep failed") }
        #expect(failures.count { $0.contains("counts of") } == 5 && failures.count { !$0.contains("counts of") } == 5)
        #expect(try await database.count("SELECT count(*) FROM elsewhere WHERE expiry_recorded_at IS NOT NULL") == 0)
    }
}
