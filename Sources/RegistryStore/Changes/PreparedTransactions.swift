import Foundation
import PostgresDriver
import RegistryCore

/// The parts of transactions that workers of Citus have yet to end.
///
/// A writing transaction is prepared on its worker, ends on the coordinator, and only then on the worker: until then, a
/// snapshot of the coordinator counts rows as committed that no session can read yet.
enum PreparedTransactions {
    /// Waits until workers have ended all transactions that the coordinator had ended at the call. This is short unless
    /// a node is away.
    ///
    /// - Throws: `unavailable`: a position must not move past untold changes.
    static func wait(_ session: borrowing PostgresSession) throws {
        var waiting: Set<String>?
        for look in 0..<mostLooks {
            if look > 0 { Thread.sleep(forTimeInterval: pause) }
            let (names, isWhole) = try session.execute(all)[0].decode([String].self, Bool.self)
            guard isWhole else { break }
            // A snapshot taken earlier does not count later prepared transactions as over.
            let left = waiting?.intersection(names) ?? Set(names)
            guard !left.isEmpty else { return }
            waiting = left
        }
        var problem = Problem(
            .unavailable,
            "A worker of Citus has not ended its part of some transactions, so what changed is not known yet. Ask again."
        )
        problem.retryAfter = .seconds(1)
        throw problem
    }

    /// How often workers are asked, and after which pause, in seconds: for a second or two.
    private static let mostLooks = 100
    private static let pause = 0.01

    /// The names of those that are prepared in this database, and whether all workers answered.
    private static let all: SQL = """
        SELECT coalesce(array_agg(part.gid) FILTER (WHERE part.gid <> ''), '{}'), coalesce(bool_and(answer.success), true)
        FROM run_command_on_workers($$
            SELECT coalesce(string_agg(p.gid, ','), '') FROM pg_prepared_xacts p WHERE p.database = current_database()
        $$) AS answer
        LEFT JOIN LATERAL unnest(string_to_array(CASE WHEN answer.success THEN answer.result END, ',')) AS part (gid)
            ON true
        """
}
