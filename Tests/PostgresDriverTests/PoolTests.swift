import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite struct PoolTests {
    @Test(.pool(1)) func `A waiting caller fails at its deadline`() async throws {
        let held = try await HeldTransaction("SELECT 1", in: pool)
        let start = ContinuousClock.now
        let error = try await postgresError {
            try await pool.withSession(timeout: .milliseconds(100)) { _ in _ = Issue.record("the closure ran") }
        }
        #expect(error.code == .deadlineExceeded)
        #expect(error.isSafeToRetry)
        // Waiting ends after three quarters of the time, so that the rest is enough for a statement.
        #expect((.milliseconds(75) ..< .seconds(10)).contains(start.duration(to: .now)))
        #expect(pool.statistics.waiting == 0)
        try await held.release()
    }

    @Test(.pool(1)) func `A caller with a passed deadline fails without waiting`() async throws {
        let held = try await HeldTransaction("SELECT 1", in: pool)
        for _ in 0..<100 {
            let error = try await postgresError {
                try await pool.withSession(timeout: .zero) { _ in _ = Issue.record("the closure ran") }
            }
            #expect(error.code == .deadlineExceeded)
        }
        try await held.release()
    }

    @Test(.pool(1)) func `A cancelled caller leaves the queue`() async throws {
        let held = try await HeldTransaction("SELECT 1", in: pool)
        let waiter = Task { try await pool.withSession { _ in _ = Issue.record("the closure ran") } }
        try await until { pool.statistics.waiting == 1 }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(pool.statistics.waiting == 0)
        try await held.release()
    }

    @Test(.pool(1)) func `A running statement is not cancelled`() async throws {
        let (inside, end) = (Counter(), DispatchSemaphore(value: 0))
        let running = Task {
            try await pool.withSession { session in
                inside.increment()
                end.wait()
                return try session.execute("SELECT 7")[0].decode(Int.self)
            }
        }
        try await until { inside.value == 1 }
        running.cancel()
        end.signal()
        #expect(try await running.value == 7)
    }

    @Test func `Shutdown waits for lent sessions and refuses others`() async throws {
        let watched = try await withPool(1) { pool in
            let held = try await HeldTransaction("SELECT 1", in: pool)
            let waiter = Task { try await pool.run("SELECT 1") }
            try await until { pool.statistics.waiting == 1 }
            let isOver = Counter()
            let shutdown = Task {
                await pool.shutdown()
                isOver.increment()
            }
            let refused = try await postgresError { try await waiter.value }
            #expect(refused.code == .poolClosed)
            #expect(isOver.value == 0)
            try await held.release()
            await shutdown.value
            let late = try await postgresError { try await pool.run("SELECT 1") }
            #expect(late.code == .poolClosed)
            return pool
        }
        #expect(watched.statistics.open == 0)
    }

    @Test func `Session settings reach the server`() async throws {
        let configuration = try await ownSchema(1) {
            $0.statementTimeout = .milliseconds(1500)
            $0.lockTimeout = .zero
            $0.settings["plan_cache_mode"] = "force_generic_plan"
            $0.settings["work_mem"] = "5MB"
            $0.connectionString += " options='-c geqo_threshold=9'"
        }
        try await withPool(configuration: configuration) { pool in
            let names = [
                "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "plan_cache_mode",
                "work_mem", "geqo_threshold",
            ]
            let values = try await pool.value(
                [String].self,
                "SELECT array_agg(current_setting(name) ORDER BY i) FROM unnest(\(names)) WITH ORDINALITY AS n (name, i)"
            )
            #expect(values == ["1500ms", "0", "2s", "force_generic_plan", "5MB", "9"])
        }
    }

    struct Unfit: Error, Equatable {}

    @Test func `The check of new connections can reject a connection`() async throws {
        let configuration = try await ownSchema(1) { $0.onConnect = { _ in throw Unfit() } }
        try await withPool(configuration: configuration) { pool in
            await #expect(throws: Unfit.self) { try await pool.run("SELECT 1") }
            #expect(pool.statistics.open == 0)
            #expect(pool.statistics.failures == 1)
        }
    }

    @Test func `A failure while a connection is prepared is a failed connect`() async throws {
        let configuration = try await ownSchema(1) { $0.onConnect = { _ = try $0.execute("SELECT 1/0") } }
        try await withPool(configuration: configuration) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect((error.code, error.sqlState) == (.connectionFailed, "22012"))
            #expect(error.isSafeToRetry)
        }
    }

    @Test func `Threads end with their connections`() async throws {
        func threads() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count {
                (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == "ended-soon\n"
            }
        }
        let name: @Sendable (borrowing PostgresSession) throws -> Void = { _ in
            try "ended-soon".write(toFile: "/proc/thread-self/comm", atomically: false, encoding: .utf8)
        }
        for _ in 0..<20 {
            let configuration = try await ownSchema(2) { $0.onConnect = name }
            try await withPool(configuration: configuration) { pool in
                try await pool.run("SELECT 1")
                #expect(try threads() >= 1)
            }
        }
        try await until { try threads() == 0 }
    }

    @Test(.pool(4)) func `Many tasks share few connections`() async throws {
        try await pool.run(
            "CREATE TABLE counters (id int PRIMARY KEY, count int)",
            "INSERT INTO counters VALUES (1, 0)"
        )
        try await concurrently(0..<64) { task in
            for number in 0..<50 {
                let expected = task * 1000 + number
                let echoed = try await pool.withSession { session in
                    try session.pipeline([
                        "UPDATE counters SET count = count + 1 WHERE id = 1", "SELECT \(expected)",
                    ])[1][0].decode(Int.self)
                }
                #expect(echoed == expected)
            }
        }
        #expect(try await pool.value(Int.self, "SELECT count FROM counters") == 3200)
        #expect(pool.statistics.connects <= 4)
        #expect(pool.statistics.failures == 0)
    }
}
