import Foundation
import PostgresDriver
import Synchronization
import Testing

/// A closure that begins on its caller's thread, and is gone on with on the connection's own when Postgres takes longer.
@Suite(.timeLimit(.minutes(15))) struct CallersThreadTests {
    /// Where a closure ran, time after time.
    private final class Threads: Sendable {
        private let all = Mutex<[UInt]>([])
        func note() { all.withLock { $0.append(UInt(pthread_self())) } }
        var seen: [UInt] { all.withLock(\.self) }
    }

    @Test func whatIsAnsweredInTimeNeverLeavesTheThread() async throws {
        try await withPool(1) { pool in
            try await pool.run("SELECT 1")
            let threads = Threads()
            let found = try await pool.withSession(patience: .seconds(10)) { session in
                threads.note()
                let first = try session.execute("SELECT 1")[0].decode(Int32.self)
                return first + (try session.execute("SELECT 2::int4")[0].decode(Int32.self))
            }
            #expect(found == 3)
            #expect(threads.seen.count == 1)
            try await pool.withSession { _ in threads.note() }
            #expect(Set(threads.seen).count == 2)
        }
    }

    /// The second round trip waits for a lock that is held until the first one's row is seen to be there, once.
    @Test(arguments: [Duration.zero, .milliseconds(20)]) func nothingIsDoneTwice(_ patience: Duration) async throws {
        try await withPool(3) { pool in
            try await pool.run("CREATE TABLE done (number int8)")
            try await pool.run("CREATE TABLE held (number int8)")
            let threads = Threads()
            let end = Gate()
            let holder = Task {
                try await pool.withSession { session in
                    try session.transaction { transaction in
                        _ = try transaction.execute("LOCK TABLE held")
                        end.pass()
                    }
                }
            }
            try await until {
                let query: SQL = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'held'::regclass AND granted)"
                return try await pool.value(Bool.self, query)
            }
            let worker = Task {
                try await pool.withSession(patience: patience) { session in
                    threads.note()
                    let own = try session.execute("INSERT INTO done VALUES (7) RETURNING number")[0].decode(Int.self)
                    let rows = try session.pipeline(["SELECT count(*) FROM held", "SELECT count(*) FROM done"])
                    return [own, try rows[0][0].decode(Int.self), try rows[1][0].decode(Int.self)]
                }
            }
            // The connection's own thread goes on while the lock is held.
            try await until { threads.seen.count == 2 }
            end.open()
            try await holder.value
            #expect(try await worker.value == [7, 0, 1])
            #expect(Set(threads.seen).count == 2)
            #expect(try await pool.value(Int.self, "SELECT count(*) FROM done") == 1)
        }
    }

    /// Rows come in many pieces, each of which may be the one that is not waited for.
    @Test(arguments: [Duration.zero, .milliseconds(1)]) func aLongAnswerIsWhole(_ patience: Duration) async throws {
        for _ in 0..<5 {
            try await withPool(1) { pool in
                let sum = try await pool.withSession(patience: patience) { session in
                    let results = try session.pipeline([
                        "SELECT n, repeat('x', 100) FROM generate_series(1, 20000) AS n", "SELECT 5::int8",
                    ])
                    let rows = try results[0].decode((Int32, String).self)
                    #expect(rows.allSatisfy { $0.1.utf8.count == 100 })
                    return rows.reduce(0) { $0 + Int($1.0) } + (try results[1][0].decode(Int.self))
                }
                #expect(sum == 200_010_005)
            }
        }
    }

    @Test(arguments: [Duration.zero, .seconds(10)]) func anErrorIsTheSame(_ patience: Duration) async throws {
        try await withPool(1) { pool in
            try await pool.run("CREATE TABLE one (number int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            // It is the commit that fails.
            let late = try await postgresError {
                try await pool.withSession(patience: patience) { _ = try $0.execute("INSERT INTO one VALUES (1), (1)") }
            }
            #expect(late.sqlState == "23505")
            #expect(try await pool.value(Int.self, "SELECT count(*) FROM one") == 0)
            #expect(pool.statistics.connects == 1)
        }
        try await withPool(1) { pool in
            let early = try await postgresError {
                try await pool.withSession(patience: patience) {
                    _ = try $0.pipeline(["SELECT 1", "SELECT 1 / 0", "SELECT 2"])
                }
            }
            #expect(early.sqlState == "22012")
            #expect(pool.statistics.connects == 1)
        }
    }

    @Test func aConnectionThatIsLostOnTheWayLeavesTheOutcomeUnknown() async throws {
        try await withPool(2) { pool in
            let backend = Mutex(0)
            let worker = Task {
                try await postgresError {
                    try await pool.withSession(patience: .zero) { session in
                        let own = try session.execute("SELECT pg_backend_pid()::int8")[0].decode(Int.self)
                        backend.withLock { $0 = own }
                        _ = try session.execute("SELECT pg_sleep(20)")
                    }
                }
            }
            try await until {
                let own = backend.withLock(\.self)
                return try await pool.value(
                    Bool.self,
                    "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(Int32(own)) AND wait_event = 'PgSleep')"
                )
            }
            try await pool.run("SELECT pg_terminate_backend(\(Int32(backend.withLock(\.self))))")
            let error = try await worker.value
            #expect(error.code == .connectionLost && !error.isSafeToRetry)
            try await pool.run("SELECT 1")
        }
    }

    @Test func theDeadlineHolds() async throws {
        for patience in [Duration.zero, .seconds(5)] {
            try await withPool(1) { pool in
                try await pool.run("SELECT 1")
                let start = ContinuousClock.now
                let error = try await postgresError {
                    try await pool.withSession(timeout: .milliseconds(300), patience: patience) {
                        _ = try $0.execute("SELECT pg_sleep(20)")
                    }
                }
                #expect(error.code == .deadlineExceeded && !error.isSafeToRetry)
                #expect((.milliseconds(300) ..< .seconds(10)).contains(start.duration(to: .now)))
            }
        }
    }

    @Test func aConnectionThatDiedIdleIsReplaced() async throws {
        try await withPool(1) { pool in
            let backend = try await pool.value(Int.self, "SELECT pg_backend_pid()")
            kill(pid_t(backend), SIGTERM)
            try await until { kill(pid_t(backend), 0) != 0 }
            let found = try await pool.withSession(patience: .seconds(10)) { session in
                try session.execute("SELECT 6::int8")[0].decode(Int.self)
            }
            #expect(found == 6)
            #expect(pool.statistics.connects == 2)
        }
    }

    /// Nothing is waited for in vain where nothing is waited for: each is sent from here, and goes on there. The statement
    /// takes longer than a busy machine may keep this thread from its first look at the answer.
    @Test func withoutPatienceItDoesNotRest() async throws {
        let threads = Threads()
        try await withPool(1) { pool in
            try await pool.run("SELECT 1")
            for _ in 0..<3 {
                _ = try await pool.withSession(patience: .zero) { session in
                    threads.note()
                    return try session.execute("SELECT pg_sleep(0.2)").count
                }
            }
        }
        #expect(threads.seen.count == 6)
        #expect(Set(stride(from: 1, to: 6, by: 2).map { threads.seen[$0] }).count == 1)
    }

    /// The second one would be answered in time if it were waited for. The rest is short, and a busy machine may take longer
    /// for two statements, or keep this thread from its first look until there is an answer: then that says nothing.
    @Test func afterWaitingInVainItRests() async throws {
        for _ in 0..<100 {
            let threads = Threads()
            let duration = try await withPool(1) { pool in
                try await pool.run("SELECT 1")
                let start = ContinuousClock.now
                for patience in [Duration.milliseconds(1), .seconds(10)] {
                    _ = try await pool.withSession(patience: patience) { session in
                        threads.note()
                        return try session.execute("SELECT pg_sleep(0.02)").count
                    }
                }
                return start.duration(to: .now)
            }
            guard duration < .milliseconds(90), threads.seen.count == 4 else { continue }
            #expect(threads.seen[1] == threads.seen[3])
            return
        }
        Issue.record("two statements never went on elsewhere within 90 ms")
    }

    @Test func onlyPipelinesBeginThere() async throws {
        try await withPool(1) { pool in
            for patience in [Duration.zero, .seconds(10)] {
                let explicit = try await postgresError {
                    try await pool.withSession(patience: patience) { session in
                        try session.transaction { _ = try $0.execute("SELECT 1") }
                    }
                }
                let script = try await postgresError {
                    try await pool.withSession(patience: patience) { try $0.simple("SELECT 1") }
                }
                #expect(explicit.code == .misuse && script.code == .misuse)
            }
        }
    }
}
