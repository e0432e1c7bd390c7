import Dispatch
import PostgresDriver

/// A transaction that keeps its locks until it is told to go, on a thread of its own; then all of it is undone, unless it is
/// one that commits.
public final class HeldTransaction: Sendable {
    private struct Released: Error {}

    /// The process of Postgres that holds the locks.
    public let backend: Int32
    private let database: TestDatabase
    private let end: DispatchSemaphore
    private let task: Task<Void, any Error>

    /// Runs a statement, and returns once it has its locks.
    public init(_ statement: SQL, in database: TestDatabase, commits: Bool = false) async throws {
        let end = DispatchSemaphore(value: 0)
        let (began, begin) = AsyncThrowingStream.makeStream(of: Int.self)
        let task = Task {
            do {
                try await database.pool.withSession(.never, timeout: .seconds(1800)) { session in
                    try session.transaction { transaction in
                        _ = try transaction.execute(statement)
                        let own = try transaction.execute("SELECT pg_backend_pid()::int8")[0].decode(Int.self)
                        begin.yield(own)
                        end.wait()
                        if !commits { throw Released() }
                    }
                }
            } catch {
                begin.finish(throwing: error)
                if !(error is Released) { throw error }
            }
        }
        (self.database, self.end, self.task) = (database, end, task)
        var first = began.makeAsyncIterator()
        backend = Int32(try await first.next() ?? 0)
    }

    /// How many sessions wait for its locks.
    public var waiting: Int {
        get async throws {
            let waiting: SQL = "SELECT FROM pg_stat_activity WHERE \(backend) = ANY(pg_blocking_pids(pid))"
            return try await database.pool.withSession { try $0.execute(waiting).rows.count }
        }
    }

    /// Returns once that many sessions wait for its locks.
    public func waitUntilSomebodyWaits(sessions: Int = 1) async throws {
        try await until(.seconds(240)) { try await waiting >= sessions }
    }

    /// Gives the locks back, and returns once they are.
    public func release() async throws {
        end.signal()
        try await task.value
    }
}
