import Testing

@testable import PostgresDriver

@Suite struct PreparedStatementsTests {
    private static func query(_ name: String, _ text: String) -> SQL {
        Query.parse("-- name: t.\(name)\n\(text);")[0]()
    }

    @Test func `A failed parse is not cached`() async throws {
        try await withSession { session in
            let select = Self.query("count", "SELECT count(*) FROM later")
            let error = #expect(throws: PostgresError.self) { try session.execute(select) }
            #expect(error?.sqlState == "42P01")
            _ = try session.execute("CREATE TABLE later (id int)")
            #expect(try session.execute(select)[0].decode(Int.self) == 0)
        }
    }

    @Test func `Statements after a failure are not cached`() async throws {
        try await withSession { session in
            let behind = Self.query("behind", "SELECT 'behind'")
            #expect(throws: PostgresError.self) { try session.pipeline(["SELECT 1/0", behind, behind]) }
            _ = try session.execute(behind)
            #expect(throws: PostgresError.self) { try session.pipeline([behind, "SELECT 1/0"]) }
            _ = try session.execute(behind)
        }
    }

    @Test(.pool(1)) func `Statements unknown to the server are retried on a new connection`() async throws {
        let tries = Counter()
        let statement = Self.query("remember", "SELECT 'remembered'")
        try await pool.withSession { _ = try $0.pipeline([statement, "SELECT 1"]) }
        try await pool.withSession { try $0.simple("DEALLOCATE ALL") }
        let text = try await pool.withSession { session in
            tries.increment()
            return try session.execute(statement)[0].decode(String.self)
        }
        #expect(text == "remembered")
        #expect(tries.value == 2)
        #expect(pool.statistics.connects == 2)
    }

    @Test(.pool(2)) func `A changed result type is retried on a new connection`() async throws {
        try await pool.run("CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
        let all = Self.query("all", "SELECT * FROM t")
        try await pool.withSession { _ = try $0.execute(all) }
        try await pool.run("ALTER TABLE t ADD b text DEFAULT 'new'")
        let row = try await pool.withSession { try $0.execute(all)[0].decode(Int.self, String.self) }
        #expect(row == (1, "new"))
        #expect(pool.statistics.retries == 1)
    }
}

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

    /// The number of sequential scans by a statement that was planned while the table was empty. With rows, the index is faster.
    private func wholeReads(lifetime: Duration?, on cluster: ThrowawayCluster) async throws -> Int {
        let configuration = try await ownSchema(1, on: cluster.socketString) {
            $0.settings["plan_cache_mode"] = "force_generic_plan"
            $0.planLifetime = lifetime
        }
        return try await withPool(configuration: configuration) { pool in
            try await pool.run(
                "CREATE TABLE t (id int8 PRIMARY KEY, note text) WITH (autovacuum_enabled = off)",
                "ANALYZE t"
            )
            let find = Query.parse("-- name: t.find\nSELECT note FROM t WHERE id = 7;")[0]()
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
