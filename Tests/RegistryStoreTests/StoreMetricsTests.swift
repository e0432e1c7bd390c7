import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Timed work counts once, regardless of its outcome.
@Suite(.timeLimit(.minutes(15))) struct StoreMetricsTests {
    private struct Fault: Error {}

    @Test func `A lookup that waits for a lock is counted once, with its whole time`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(5))
        let database = activity.database
        let registry = database.anotherRegistry(maximumConnections: 1)
        let holder = try await HeldTransaction("LOCK TABLE activities", in: database)
        let page = Task { try await registry.page(of: .sample("orderId", "1"), after: 0, limit: 1, in: activity.scope) }
        let waits: SQL = """
            SELECT count(*) FROM pg_locks
            WHERE relation = 'activities'::regclass AND NOT granted AND waitstart < now() - interval '10 ms'
            """
        try await until { try await database.count(waits) > 0 }
        try await holder.release()
        #expect(try await page.value.activities == [])
        let metrics = registry.metrics
        #expect(metrics.statements[.resolutions]?.snapshot.count == 1)
        #expect(try #require(metrics.statements[.resolutions]).snapshot.sum > 0.01)
        #expect(metrics.connectionWaits.snapshot.count == 1)
        #expect(metrics.batches[.resolutions]?.sizes.snapshot.count == 1)
        #expect(metrics.batches[.resolutions]?.waits.snapshot.count == 1)
        #expect(metrics.statements.values.map(\.snapshot.count).reduce(0, +) == 1)
    }

    @Test func `A closure that is run again is counted once`() throws {
        let metrics = StoreMetrics()
        let watch = Stopwatch(metrics, .reads)
        #expect(throws: Fault.self) { try watch.timed { throw Fault() } }
        #expect(metrics.statements[.reads]?.snapshot.count == 0)
        #expect(watch.timed { 7 }.value == 7)
        #expect(metrics.statements[.reads]?.snapshot.count == 1)
        // The worker's next batch counts separately.
        #expect(watch.timed { 8 }.value == 8)
        #expect(metrics.statements[.reads]?.snapshot.count == 2)
        #expect(metrics.connectionWaits.snapshot.count == 1)
    }

    @Test func `An abandoned unit of work is counted`() throws {
        let metrics = StoreMetrics()
        let watch = Stopwatch(metrics, .writes)
        #expect(throws: Fault.self) { try watch.timed { throw Fault() } }
        watch.giveUp()
        #expect(metrics.statements[.writes]?.snapshot.count == 1)
        #expect(metrics.connectionWaits.snapshot.count == 1)
        // Work without a connection has a waiting time only.
        Stopwatch(metrics, .writes).giveUp()
        #expect(metrics.statements[.writes]?.snapshot.count == 1)
        #expect(metrics.connectionWaits.snapshot.count == 2)
    }

    @Test func `A statement that fails is counted`() async throws {
        let registry = try await TestDatabase.make().registry
        await #expect(throws: Problem.self) {
            try await registry.read { session in try session.execute("SELECT 1 / 0")[0].decode(Int.self) }
        }
        #expect(registry.metrics.statements[.reads]?.snapshot.count == 1)
    }

    @Test func `Many threads record at once`() async throws {
        let histogram = Histogram(bounds: [1, 2])
        try await concurrently(0..<8) { _ in for number in 0..<1000 { histogram.record(Double(number % 4)) } }
        #expect(histogram.snapshot.counts == [4000, 2000, 2000])
        #expect(histogram.snapshot.sum == 12_000)
    }
}

/// The log reports an outage without a line for every failure.
@Suite struct RepeatedErrorsTests {
    @Test func `Repeated errors within a second are counted, not logged`() {
        let (errors, start) = (RepeatedErrors(), ContinuousClock.now)
        func at(_ milliseconds: Int, _ kind: String = "a") -> Int? {
            errors.admit(kind, now: start + .milliseconds(milliseconds))
        }
        #expect(at(0) == 0)
        #expect(at(1) == nil)
        #expect(at(999) == nil)
        #expect(at(999, "b") == 0)
        #expect(at(1000) == 2)
        #expect(at(1999) == nil)
        #expect(at(5000) == 1)
        #expect(at(7000) == 0)
    }

    @Test func `An outage logs one line per second`() async throws {
        let log = RecordedLog()
        let configuration = PostgresConfiguration(connectionString: "host=/nowhere-at-all", requestTimeout: .seconds(1))
        let pool = PostgresPool(configuration: configuration)
        let registry = Registry(pool: pool, logger: log.logger)
        let start = ContinuousClock.now
        for _ in 0..<50 { await #expect(throws: Problem.self) { try await registry.apps() } }
        let seconds = Int(start.duration(to: .now) / .seconds(1))
        await pool.shutdown()
        // One line at the start, and one per second for each of the few kinds of failure.
        #expect((1...3 * (seconds + 1)).contains(log.lines.count), "\(log.lines.count) lines in \(seconds) s")
        #expect(log.lines.allSatisfy { $0.contains("connectionFailed") }, "\(log.text)")
    }
}

@Suite(.timeLimit(.minutes(2))) struct PoolShareTests {
    @Test func `Hot calls continue while other work fills the pool`() async throws {
        let database = try await TestDatabase.make(maximumConnections: 4)
        let (registry, scope) = (database.registry, try await database.scope())
        var held: [HeldTransaction] = []
        for _ in 0..<3 { held.append(try await HeldTransaction("SELECT 1", in: database)) }
        async let apps = registry.apps()
        while registry.connections.waiting < 1 { await Task.yield() }
        // All registrations use the connection that is reserved for hot work.
        for number in 0..<8 {
            let registration = ActivityRegistration.sample(token: .sample(number))
            _ = try await registry.register(registration, as: .sample("a-\(number)"), in: scope, by: "x")
            #expect(try await registry.storedKeys(APIKey(random: .sender).id).isEmpty)
            #expect(try await registry.app(BundleID("com.example.food")) == scope.app)
            #expect(try await registry.checkReadiness().schemaVersion > 0)
        }
        #expect(registry.connections.waiting == 1)
        #expect(registry.connections.opened == 4)
        try await held.removeLast().release()
        #expect(try await apps.count == 1)
        for transaction in held { try await transaction.release() }
    }
}
