import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite struct FailureTests {
    /// Waits until a backend of the pool waits for a lock, and returns its process id.
    private func blockedBackend(_ pool: PostgresPool) async throws -> Int {
        var backend: Int?
        try await until {
            backend = try await pool.value(
                Int?.self,
                """
                SELECT max(pid)::int8 FROM pg_stat_activity
                WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock'
                """
            )
            return backend != nil
        }
        return try #require(backend)
    }

    private func terminate(_ backend: Int, _ pool: PostgresPool) async throws {
        let isDone = try await pool.value(Bool.self, "SELECT pg_terminate_backend(\(Int32(backend)))")
        #expect(isDone)
    }

    @Test(.pool(1)) func `A call to a frozen backend fails at its deadline`() async throws {
        let backend = try await pool.value(Int.self, "SELECT pg_backend_pid()")
        kill(pid_t(backend), SIGSTOP)
        defer { kill(pid_t(backend), SIGCONT) }
        let start = ContinuousClock.now
        let error = try await postgresError {
            try await pool.withSession(.idempotentRead, timeout: .seconds(2)) { _ = try $0.execute("SELECT 1") }
        }
        #expect((.seconds(2) ..< .seconds(15)).contains(start.duration(to: .now)))
        #expect(error.code == .deadlineExceeded)
        #expect(!error.isSafeToRetry)
        try await pool.run("SELECT 1")
        #expect(pool.statistics.connects == 2)
    }

    @Test(.pool(1)) func `A transaction on a frozen backend is rolled back and safe to retry`() async throws {
        let error = try await postgresError {
            try await pool.withSession(timeout: .seconds(2)) { session in
                let backend = try session.execute("SELECT pg_backend_pid()")[0].decode(Int.self)
                defer { kill(pid_t(backend), SIGCONT) }
                try session.transaction { transaction in
                    _ = try transaction.execute("SELECT 1")
                    kill(pid_t(backend), SIGSTOP)
                    let inner = #expect(throws: PostgresError.self) { try transaction.execute("SELECT 2") }
                    #expect(inner?.code == .deadlineExceeded)
                    #expect(inner?.isSafeToRetry == true)
                }
            }
        }
        #expect(error.code == .deadlineExceeded)
    }

    @Test(.pool(2)) func `A connection that breaks while idle is replaced without an error`() async throws {
        let first = try await pool.meet("SELECT pg_backend_pid()", width: 2, .never)
        try await endBackends(first)
        let second = try await pool.meet("SELECT pg_backend_pid()", width: 2, .never)
        #expect(Set(first + second).count == 4)
        #expect(pool.statistics.failures == 0)
        #expect(pool.statistics.retries == 0)
    }

    private func endBackends(_ backends: [Int]) async throws {
        try await withPool(1) { pool in
            for backend in backends { try await terminate(backend, pool) }
            try await until {
                try await pool.value(Int.self, "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(\(backends))")
                    == 0
            }
        }
    }

    /// Runs statements, and ends their backend while the last statement waits for a lock.
    private func runAndTerminate(_ retry: RetryPolicy, _ tries: Counter, _ pool: PostgresPool) async throws -> Int {
        let held = try await HeldTransaction("SELECT pg_advisory_xact_lock(77)", in: pool)
        let victim = Task {
            try await pool.withSession(retry) { session in
                tries.increment()
                let lock: SQL = "SELECT pg_advisory_xact_lock(77)"
                return try session.pipeline(["INSERT INTO t VALUES (1)", lock, "SELECT 7"])[2][0].decode(Int.self)
            }
        }
        try await terminate(try await blockedBackend(pool), pool)
        try await held.release()
        return try await victim.value
    }

    @Test(.pool(3)) func `A write is not retried after its connection breaks`() async throws {
        try await pool.run("CREATE TABLE t (id int)")
        let tries = Counter()
        let error = try await postgresError { _ = try await runAndTerminate(.ifSafe, tries, pool) }
        #expect(error.code == .connectionLost)
        #expect(error.sqlState == "57P01")
        #expect(!error.isSafeToRetry)
        #expect(tries.value == 1)
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM t") == 0)
    }

    /// The insert goes to the default partition, which the change has locked.
    @Test(.pool(3)) func `A row is inserted into a partition that is created at the same time`() async throws {
        try await pool.run("CREATE TABLE t (id int) PARTITION BY LIST (id)")
        try await pool.run("CREATE TABLE others PARTITION OF t DEFAULT", "CREATE TABLE ones (LIKE t)")
        let attach: SQL = "ALTER TABLE t ATTACH PARTITION ones FOR VALUES IN (1)"
        let change = try await HeldTransaction(attach, in: pool, commits: true)
        let row = Task { try await pool.run("INSERT INTO t VALUES (1)") }
        _ = try await blockedBackend(pool)
        try await change.release()
        try await row.value
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM ones") == 1)
        #expect(pool.statistics.retries == 1)
    }

    @Test(.pool(3)) func `An idempotent read is retried once after its connection breaks`() async throws {
        try await pool.run("CREATE TABLE t (id int)")
        let tries = Counter()
        #expect(try await runAndTerminate(.idempotentRead, tries, pool) == 7)
        #expect(tries.value == 2)
    }

    @Test(.pool(1)) func `An idempotent read is not retried forever`() async throws {
        let tries = Counter()
        let error = try await postgresError {
            try await pool.withSession(.idempotentRead) { session in
                tries.increment()
                _ = try session.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            }
        }
        #expect(error.code == .connectionLost)
        #expect(tries.value == 2)
    }

    @Test(.pool(1)) func `A transaction runs again if its connection breaks before the commit`() async throws {
        try await pool.run("CREATE TABLE t (id int)")
        let tries = Counter()
        try await pool.withSession { session in
            let isFirst = tries.increment() == 1
            try session.transaction { transaction in
                _ = try transaction.execute("INSERT INTO t VALUES (1)")
                if isFirst { _ = try transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())") }
            }
        }
        let rows = try await pool.value(Int.self, "SELECT count(*) FROM t")
        #expect((tries.value, rows) == (2, 1))
    }

    @Test func `A commit without the standby's confirmation is an error`() async throws {
        let cluster = try await ThrowawayCluster.start(settings: ["synchronous_standby_names": "absent"])
        let configuration = try await ownSchema(1, on: cluster.socketString) {
            $0.settings["synchronous_commit"] = "local"
        }
        try await withPool(configuration: configuration) { pool in
            try await pool.run("CREATE TABLE t (id int)")
            let backend = try await pool.value(Int.self, "SELECT pg_backend_pid()")
            let tries = Counter()
            let write = Task {
                try await pool.withSession { session in
                    tries.increment()
                    _ = try session.pipeline(["SET LOCAL synchronous_commit = on", "INSERT INTO t VALUES (1)"])
                }
            }
            try await cancelReplicationWait(of: backend, on: cluster)
            let error = try await postgresError { try await write.value }
            #expect(error.code == .commitNotReplicated)
            #expect(!error.isSafeToRetry)
            #expect(tries.value == 1)
            try await pool.run("INSERT INTO t VALUES (2)")
        }
    }

    private func cancelReplicationWait(of backend: Int, on cluster: ThrowawayCluster) async throws {
        try await withPool(configuration: PostgresConfiguration(connectionString: cluster.socketString)) { pool in
            let cancel: SQL = """
                SELECT count(*) FROM (
                    SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                    WHERE pid = \(Int32(backend)) AND wait_event = 'SyncRep' OFFSET 0
                ) AS waiting WHERE pg_cancel_backend
                """
            try await until { try await pool.value(Int.self, cancel) == 1 }
        }
    }

    @Test func `Callers fail fast while the server is down, and succeed after its start`() async throws {
        let cluster = try await ThrowawayCluster.start()
        try await withPool(4, on: cluster.tcpString) { pool in
            try await pool.run("SELECT 1")
            try await cluster.stop()
            let start = ContinuousClock.now
            for _ in 0..<200 {
                let error = try await postgresError { try await pool.run("SELECT 2") }
                #expect(error.code == .connectionFailed)
                #expect(error.isSafeToRetry)
            }
            #expect(start.duration(to: .now) < .seconds(10))
            #expect(pool.statistics.failures < 20)
            try await cluster.resume()
            try await until { (try? await pool.run("SELECT 3")) != nil }
        }
    }

    @Test(.pool(1)) func `A caller without time for a retry gets the previous error`() async throws {
        let end = DispatchSemaphore(value: 0)
        let error = try await postgresError {
            try await pool.withSession(timeout: .seconds(1)) { session in
                Task { try await pool.withSession { _ in end.wait() } }
                while pool.statistics.waiting == 0 { sched_yield() }
                try session.transaction { transaction in
                    try transaction.simple("DO $$ BEGIN RAISE 'not now' USING ERRCODE = '40001'; END $$")
                }
            }
        }
        end.signal()
        #expect(error.sqlState == "40001")
    }

    @Test func `Callers do not queue while the server does not respond`() async throws {
        let listener = try SilentListener()
        var configuration = PostgresConfiguration(
            connectionString: "host=127.0.0.1 port=\(listener.port) user=nobody sslmode=disable"
        )
        configuration.connectTimeout = .milliseconds(200)
        // Queueing would mean a hundred rounds of two calls: twenty seconds.
        configuration.maximumConnections = 2
        configuration.requestTimeout = .seconds(60)
        try await withPool(configuration: configuration) { pool in
            let start = ContinuousClock.now
            try await concurrently(0..<200) { _ in
                let error = try await postgresError { try await pool.run("SELECT 1") }
                #expect(error.code == .connectionFailed)
            }
            #expect(start.duration(to: .now) < .seconds(5))
        }
    }
}
