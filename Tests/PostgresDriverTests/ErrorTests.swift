import PostgresDriver
import TestSupport
import Testing

@Suite struct ErrorTests {
    static let leaks: [(SQL, String, mentions: String)] = [
        ("INSERT INTO t VALUES ('hunter2', 1), ('hunter2', 2)", "23505", "t_key"),
        ("INSERT INTO t VALUES ('hunter2', -1)", "23514", "t_positive"),
        ("INSERT INTO t VALUES ('hunter2', NULL)", "23502", "table t"),
        ("SELECT \("hunter2")::text::int", "22P02", "22P02"),
        ("SELECT \("hunter2")::text::jsonb", "22P02", "22P02"),
        ("DO $$ BEGIN RAISE 'about hunter2'; END $$", "P0001", "P0001"),
        ("DO $$ BEGIN RAISE EXCEPTION 'fine' USING DETAIL = 'hunter2', ERRCODE = '40001'; END $$", "40001", "fine"),
        ("SELECT count(*) FROM nowhere", "42P01", "relation \"nowhere\" does not exist"),
    ]

    @Test(arguments: leaks.indices)
    func `Server errors contain names of objects and no values`(_ index: Int) async throws {
        let (statement, sqlState, mention) = Self.leaks[index]
        try await withPool(1) { pool in
            try await pool.run(
                "CREATE TABLE t (name text CONSTRAINT t_key PRIMARY KEY, n int NOT NULL CONSTRAINT t_positive CHECK (n > 0))"
            )
            let error = try await postgresError { try await pool.withSession(.never) { _ = try $0.execute(statement) } }
            #expect(error.sqlState == sqlState)
            #expect("\(error)".contains(mention))
            #expect(!everything(of: error).contains("hunter2"))
        }
    }

    static let secretStrings = [
        "host=127.0.0.1 port=PORT user=postgres password=hunter2 dbname=nothere",
        "postgresql://postgres:hunter2@127.0.0.1:PORT/nothere",
        "postgresql://postgres:pa@hunter2@127.0.0.1:PORT/nothere",
        "postgresql://postgres:pa/hunter2@127.0.0.1:PORT/nothere",
        "postgresql://postgres:hunter2/word@127.0.0.1:PORT/nothere",
        "postgresql://postgres:hunter2%zz@127.0.0.1:PORT/nothere",
        "host=127.0.0.1 password=x hunter2",
        "host=127.0.0.1 password='hunter2",
        #"postgresql://postgres:a"hunter2%zz@127.0.0.1:PORT/nothere"#,
        #"host=127.0.0.1 password=x a"hunter2"#,
        "password=hunter2 host=127.0.0.1 port=1",
    ]

    @Test(arguments: secretStrings) func `Connect errors do not reveal the password`(_ string: String) async throws {
        let port = try await ThrowawayCluster.shared.port
        let connectionString = string.replacing("PORT", with: "\(port)")
        let configuration = PostgresConfiguration(connectionString: connectionString)
        #expect(!everything(of: configuration).contains("hunter2"))
        try await withPool(configuration: configuration) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect([.connectionFailed, .misuse].contains(error.code))
            #expect(!everything(of: error).contains("hunter2"))
            #expect(error.message?.isEmpty == false)
        }
    }

    private func everything(of value: some Any) -> String {
        var text = "\(value) \(String(reflecting: value))"
        dump(value, to: &text)
        return text
    }

    @Test func `Connect errors have the SQLSTATE`() async throws {
        let existing = try await ThrowawayCluster.shared.tcpString
        let connectionString = existing.replacing("dbname=postgres", with: "dbname=nothere")
        let configuration = PostgresConfiguration(connectionString: connectionString)
        try await withPool(configuration: configuration) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect(error.code == .connectionFailed)
            #expect(error.sqlState == "3D000")
            #expect(error.message?.contains("does not exist") == true)
            #expect(error.message?.contains("LOCATION") == false)
        }
    }

    @Test func `A connect that fails because of too many clients is safe to retry`() async throws {
        let cluster = try await ThrowawayCluster.start(settings: [
            "max_connections": "4", "superuser_reserved_connections": "0",
        ])
        try await withPool(4, on: cluster.tcpString) { holders in
            // The connection that pg_ctl used to test the server may still be open.
            let clients: SQL = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            try await until { try await holders.value(Int.self, clients) == 1 }
            var held: [HeldTransaction] = []
            for _ in 0..<4 { held.append(try await HeldTransaction("SELECT 1", in: holders)) }
            let configuration = PostgresConfiguration(connectionString: cluster.tcpString)
            let error = try await postgresError {
                try await withPool(configuration: configuration) { try await $0.run("SELECT 1") }
            }
            #expect((error.code, error.sqlState) == (.connectionFailed, "53300"))
            #expect(error.isSafeToRetry)
            for connection in held { try await connection.release() }
        }
    }

    @Test func `An error names its query`() async throws {
        let queries = Query.parse("-- name: t.one\nSELECT 1 AS one;\n-- name: t.fail\nSELECT 1 / 0 AS one;")
        try await withSession { session in
            let failed = #expect(throws: PostgresError.self) { try session.pipeline(queries.map { $0() }) }
            #expect(failed?.description == "PostgresError.server, 22012, query t.fail")
            let misread = #expect(throws: PostgresError.self) {
                try session.run(queries[0]).decode { try $0["one"] as String }
            }
            #expect(misread?.query == "t.one")
        }
    }
}

@Suite struct RetryTests {
    private static let badLuck: SQL = "DO $$ BEGIN RAISE 'no luck' USING ERRCODE = '40001'; END $$"

    @Test(.pool(2)) func `Callers do not see deadlocks`() async throws {
        try await pool.run("CREATE TABLE t (id int PRIMARY KEY, hits int)", "INSERT INTO t VALUES (1, 0), (2, 0)")
        let (meeting, tries) = (Rendezvous(2), Counter())
        let hit: @Sendable ([Int]) async throws -> Void = { order in
            try await pool.withSession { session in
                tries.increment()
                try session.transaction { transaction in
                    _ = try transaction.execute("UPDATE t SET hits = hits + 1 WHERE id = \(order[0])")
                    meeting.arrive()
                    _ = try transaction.execute("UPDATE t SET hits = hits + 1 WHERE id = \(order[1])")
                }
            }
        }
        async let first: Void = hit([1, 2])
        async let second: Void = hit([2, 1])
        _ = try await (first, second)
        #expect(try await pool.value([Int].self, "SELECT array_agg(hits::int8) FROM t") == [2, 2])
        #expect(tries.value >= 3)
        #expect(pool.statistics.retries == tries.value - 2)
    }

    @Test(.pool(2)) func `Callers do not see serialization failures`() async throws {
        try await pool.run("CREATE TABLE t (n int8)", "INSERT INTO t VALUES (0)")
        let (meeting, tries) = (Rendezvous(2), Counter())
        let add: @Sendable () async throws -> Void = {
            try await pool.withSession { session in
                tries.increment()
                try session.transaction { transaction in
                    let read: [SQL] = ["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT n FROM t"]
                    let old = try transaction.pipeline(read)[1][0].decode(Int.self)
                    meeting.arrive()
                    _ = try transaction.pipeline(["UPDATE t SET n = \(old + 1)"], finishing: true)
                }
            }
        }
        async let first: Void = add()
        async let second: Void = add()
        _ = try await (first, second)
        #expect(try await pool.value(Int.self, "SELECT n FROM t") == 2)
        #expect(tries.value >= 3)
    }

    @Test(.pool(1)) func `A renewed session starts clean`() async throws {
        try await pool.run("CREATE TABLE t (n int8)")
        let tries = Counter()
        try await pool.withSession { session in
            guard tries.increment() == 1 else { return }
            _ = try session.execute("INSERT INTO t VALUES (1)")
            let isRenewable = session.isRenewable
            #expect(isRenewable)
            _ = try session.renewed(timeout: .seconds(5)).execute(Self.badLuck)
        }
        #expect(tries.value == 2)
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM t") == 1)
    }

    @Test(.pool(1)) func `A serialization failure is retried many times`() async throws {
        let tries = Counter()
        try await pool.withSession { session in if tries.increment() < 12 { _ = try session.execute(Self.badLuck) } }
        #expect(tries.value == 12)
        #expect(pool.statistics.retries == 11)
    }

    @Test(.pool(1)) func `Constraint violations are not retried`() async throws {
        try await pool.run("CREATE TABLE t (id int CONSTRAINT t_key PRIMARY KEY)")
        let tries = Counter()
        let error = try await postgresError {
            try await pool.withSession(.idempotentRead) { session in
                tries.increment()
                _ = try session.execute("INSERT INTO t VALUES (1), (1)")
            }
        }
        #expect((error.sqlState, error.constraint) == ("23505", "t_key"))
        #expect(!error.isSafeToRetry)
        #expect(tries.value == 1)
    }

    @Test(.pool(1)) func `A closure that has committed does not run again`() async throws {
        try await pool.run("CREATE TABLE t (id int)")
        let tries = Counter()
        let error = try await postgresError {
            try await pool.withSession { session in
                tries.increment()
                _ = try session.execute("INSERT INTO t VALUES (1)")
                _ = try session.execute(Self.badLuck)
            }
        }
        #expect(error.sqlState == "40001")
        #expect(!error.isSafeToRetry)
        #expect(tries.value == 1)
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM t") == 1)
    }

    @Test(.pool(1)) func `A commit before a swallowed error prevents a retry`() async throws {
        try await pool.run("CREATE TABLE t (id int)")
        let error = try await postgresError {
            try await pool.withSession { session in
                try? session.transaction { transaction in
                    _ = try transaction.pipeline(["INSERT INTO t VALUES (1)"], finishing: true)
                    throw Failure("after the commit")
                }
                _ = try session.execute(Self.badLuck)
            }
        }
        #expect((error.sqlState, error.isSafeToRetry) == ("40001", false))
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM t") == 1)
    }

    @Test(.pool(1)) func `A swallowed loss of the connection is not safe to retry`() async throws {
        let tries = Counter()
        let error = try await postgresError {
            try await pool.withSession { session in
                tries.increment()
                _ = try? session.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                _ = try session.execute("SELECT 1")
            }
        }
        #expect((error.code, error.isSafeToRetry) == (.connectionLost, false))
        #expect(tries.value == 1)
    }

    @Test func `Statement and lock timeouts are safe to retry`() async throws {
        let patient = try await ownSchema(1)
        try await withPool(configuration: patient) { try await $0.run("CREATE TABLE t (id int)") }
        var hasty = patient
        hasty.maximumConnections = 2
        hasty.statementTimeout = .seconds(1)
        hasty.lockTimeout = .milliseconds(50)
        try await withPool(configuration: hasty) { pool in
            let slow = try await postgresError {
                try await pool.withSession(.never) { _ = try $0.execute("SELECT pg_sleep(30)") }
            }
            #expect((slow.sqlState, slow.isSafeToRetry) == ("57014", true))
            let held = try await HeldTransaction("LOCK TABLE t", in: pool)
            let blocked = try await postgresError {
                try await pool.withSession(.never) { _ = try $0.execute("INSERT INTO t VALUES (1)") }
            }
            #expect((blocked.sqlState, blocked.isSafeToRetry) == ("55P03", true))
            try await held.release()
        }
    }

    @Test(.pool(1)) func `Other unsupported features are not retried`() async throws {
        let error = try await postgresError { try await pool.run("SELECT now() FROM pg_class FOR UPDATE OF nothing") }
        #expect(!error.isSafeToRetry)
        let unsupported = try await postgresError { try await pool.run("CREATE TABLE t (a int) WITH (oids = true)") }
        #expect(!unsupported.isSafeToRetry)
        #expect(pool.statistics.retries == 0)
    }
}
