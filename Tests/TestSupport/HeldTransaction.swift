import Dispatch
import PostgresDriver

/// A transaction on its own thread that keeps its locks until its release, and then rolls back, or commits with `commits`.
package final class HeldTransaction: Sendable {
    private struct Released: Error {}

    /// Finds the sessions that wait for the locks. On Citus they wait on the worker that has the rows.
    private let waiters: SQL
    private let pool: PostgresPool
    private let end: DispatchSemaphore
    private let task: Task<Void, any Error>

    package convenience init(_ statement: SQL, in database: TestDatabase, commits: Bool = false) async throws {
        try await self.init(statement, in: database.pool, commits: commits)
    }

    /// Returns when the statement has its locks.
    package init(_ statement: SQL, in pool: PostgresPool, commits: Bool = false) async throws {
        let end = DispatchSemaphore(value: 0)
        let (began, begin) = AsyncThrowingStream.makeStream(of: SQL.self)
        let task = Task {
            do {
                try await pool.withSession(.never, timeout: .seconds(1800)) { session in
                    let isDistributed = session.isDistributed
                    try session.transaction { transaction in
                        // Other transactions may reach the locks after the idle timeout of this session.
                        _ = try transaction.execute(
                            "SELECT set_config('idle_in_transaction_session_timeout', '0', true)"
                        )
                        _ = try transaction.execute(statement)
                        begin.yield(try Self.waiters(for: transaction, isDistributed: isDistributed))
                        end.wait()
                        if !commits { throw Released() }
                    }
                }
            } catch {
                begin.finish(throwing: error)
                if !(error is Released) { throw error }
            }
        }
        (self.pool, self.end, self.task) = (pool, end, task)
        var first = began.makeAsyncIterator()
        waiters = try await first.next() ?? "SELECT WHERE false"
    }

    package var waiting: Int {
        get async throws { try await pool.withSession { [waiters] in try $0.execute(waiters).rows.count } }
    }

    private static func waiters(for transaction: borrowing PostgresTransaction, isDistributed: Bool) throws -> SQL {
        guard isDistributed else {
            let own = try transaction.execute("SELECT pg_backend_pid()::int8")[0].decode(Int.self)
            return "SELECT FROM pg_stat_activity WHERE \(own)::int = ANY(pg_blocking_pids(pid))"
        }
        let own = try transaction.execute("SELECT citus_backend_gpid()")[0].decode(Int.self)
        return "SELECT FROM citus_lock_waits WHERE blocking_gpid = \(own)"
    }

    package func waitUntilSomebodyWaits(sessions: Int = 1) async throws {
        try await until(.seconds(240)) { try await waiting >= sessions }
    }

    package func releaseOnceSomebodyWaits() async throws {
        try await waitUntilSomebodyWaits()
        try await release()
    }

    package func release() async throws {
        end.signal()
        try await task.value
    }
}
