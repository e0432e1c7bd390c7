import PostgresDriver
import Testing

/// Plans of prepared statements; a plan assumes the table sizes of the time when it was made.
@Suite(.timeLimit(.minutes(15))) struct QueryPlanLifetimeTests {
    @Test func `Old plans are replaced by plans for the current tables`() async throws {
        let cluster = try await ThrowawayCluster.start()
        #expect(try await wholeReads(lifetime: .zero, on: cluster) == 0)
    }

    /// In a shared cluster, changes by other tests would renew the plans. Postgres may also renew them by itself, so
    /// the first attempt may miss the old plan.
    @Test func `Without a lifetime, plans are kept`() async throws {
        let cluster = try await ThrowawayCluster.start()
        var most = 0
        for _ in 0..<20 where most == 0 { most = try await wholeReads(lifetime: nil, on: cluster) }
        #expect(most == 1)
    }

    /// The number of sequential scans by a statement that was planned while the table was empty. With rows, the index
    /// is faster.
    private func wholeReads(lifetime: Duration?, on cluster: ThrowawayCluster) async throws -> Int {
        let configuration = try await ownSchema(1, on: cluster.socketString) {
            $0.planCacheMode = .forceGenericPlan
            $0.planLifetime = lifetime
        }
        return try await withPool(configuration: configuration) { pool in
            try await pool.run(
                "CREATE TABLE t (id int8 PRIMARY KEY, note text) WITH (autovacuum_enabled = off)",
                "ANALYZE t"
            )
            let find: SQL = "SELECT note FROM t WHERE id = \(7)"
            try await pool.run(find)
            try await pool.run("INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 50000) AS n")
            let reads: SQL = "SELECT coalesce(pg_stat_get_xact_numscans('t'::regclass), 0)"
            return try await pool.transact { transaction in
                let before = try transaction.execute(reads)[0].decode(Int.self)
                _ = try transaction.execute(find)
                return try transaction.execute(reads)[0].decode(Int.self) - before
            }
        }
    }
}
