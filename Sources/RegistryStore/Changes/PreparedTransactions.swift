import Foundation
import PostgresDriver
import RegistryCore

/// The parts of transactions that Citus workers have yet to end.
///
/// A writing transaction is prepared on its worker and ends on the coordinator first, then on the worker. Meanwhile a
/// coordinator snapshot counts rows as committed that sessions cannot read yet.
enum PreparedTransactions {
    /// Waits until workers have ended all transactions that the coordinator had ended at the call. Short unless a node
    /// is down.
    ///
    /// - Throws: `unavailable`, because a position must not skip changes.
    static func wait(_ session: borrowing PostgresSession) throws {
        var waiting: Set<String>?
        for look in 0..<mostLooks {
            if look > 0 { Thread.sleep(forTimeInterval: pause) }
            let (names, isWhole) = try session.execute(all)[0].decode([String].self, Bool.self)
            guard isWhole else { break }
            // Transactions prepared later are not part of an earlier snapshot.
            let left = waiting?.intersection(names) ?? Set(names)
            guard !left.isEmpty else { return }
            waiting = left
        }
        throw Problem.unavailable(
            "A Citus worker has not finished some transactions, so the changes are not known yet. Send the same request again."
        )
    }

    /// How often to ask, and the pause in seconds: one or two seconds in total.
    private static let mostLooks = 100
    private static let pause = 0.01

    private static let all: SQL = """
        SELECT coalesce(array_agg(part.gid) FILTER (WHERE part.gid <> ''), '{}'), coalesce(bool_and(answer.success), true)
        FROM run_command_on_workers($$
            SELECT coalesce(string_agg(p.gid, ','), '') FROM pg_prepared_xacts p WHERE p.database = current_database()
        $$) AS answer
        LEFT JOIN LATERAL unnest(string_to_array(CASE WHEN answer.success THEN answer.result END, ',')) AS part (gid)
            ON true
        """
}
