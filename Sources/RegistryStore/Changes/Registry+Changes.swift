import Foundation
import PostgresDriver
import RegistryCore

package struct ChangePage: Sendable {
    package let changes: [Change]
    package let position: ChangePosition
    package let hasMore: Bool
}

extension Registry {
    /// Maximum event numbers per page, including other scopes' events.
    static let mostChangeNumbers: Int64 = 1_000_000

    package func presentChangePosition() async throws -> ChangePosition {
        let mark = try await read { try ChangePosition.mark(ChangePosition.moment($0).moment, $0) }
        var (database, now) = try await read { try ChangePosition.moment($0) }
        // Most transactions take milliseconds. A longer transaction makes later reads larger, but no change is lost.
        for _ in 0..<8 where now.snapshot.oldest <= mark.transaction {
            try await Task.sleep(for: .milliseconds(10))
            (database, now) = try await read { try ChangePosition.moment($0) }
        }
        return ChangePosition(database: database, now: now, mark: mark, fallback: Self.mostChangeNumbers / 2)
    }

    /// - Parameter limit: maximum events to read; some are not changes.
    package func changes(after position: ChangePosition, limit: Int, in scope: Scope) async throws -> ChangePage {
        try await read { session in
            let (database, moment) = try ChangePosition.moment(session)
            try position.check(against: database, moment, retention: scope.app.settings.eventRetention)
            let upper = position.page?.upper ?? moment
            guard upper.snapshot != position.since.snapshot else {
                return ChangePage(changes: [], position: try position.moved(to: upper, session), hasMore: false)
            }
            let start = max(position.low, position.page?.last ?? 0)
            let end = start + Self.mostChangeNumbers
            let page = Query("changes.read-page")([
                "scope": scope.id,
                "after": start,
                // The last part may include numbers drawn since.
                "through": end < upper.number ? end : .max,
                "since": position.since.snapshot.text,
                "until": upper.snapshot.text,
                "limit": limit,
            ])
            // Read after the page, to detect events dropped before it.
            let results = try session.pipeline([page, Query("changes.read-last-dropped")(["app": scope.app.id])])
            let events = try results[0].decode { row in
                (number: try row["event_number"] as Int64, change: try Change(event: row))
            }
            let dropped = try results[1].decode { try $0["events_dropped_to"] as Int64 }.first ?? 0
            guard dropped <= position.since.number else { throw Problem.feedExpired }
            let changes = events.compactMap(\.change)
            // The last number read, if more events follow.
            let last = events.count == limit ? events.last?.number : end < upper.number ? end : nil
            if let last {
                return ChangePage(changes: changes, position: position.moved(within: upper, to: last), hasMore: true)
            }
            let next = try position.moved(to: upper, session)
            return ChangePage(changes: changes, position: next, hasMore: position.page != nil)
        }
    }
}

extension ChangePosition {
    fileprivate func moved(to upper: Moment, _ session: borrowing PostgresSession) throws -> ChangePosition {
        var next = moved(to: upper)
        if next.needsMark { next.mark = try Self.mark(upper, session) }
        return next
    }

    fileprivate static func mark(_ moment: Moment, _ session: borrowing PostgresSession) throws -> Mark {
        let text = try session.execute(Query("changes.read-mark")())[0].decode(String.self)
        guard let transaction = UInt64(text) else { throw UnreadableRow(detail: "the transaction id \(text)") }
        return Mark(transaction: transaction, number: moment.number)
    }

    /// Flushes to disk. Otherwise Postgres could reuse its numbers after a crash, and events of other transactions
    /// would be skipped.
    static func moment(_ session: borrowing PostgresSession) throws -> (database: Database, moment: Moment) {
        let results = try session.pipeline([Query("changes.read-last-number")(), Query("changes.read-moment")()])
        let number = try results[0].decode { try $0["number"] as Int64 }[0]
        let (isFlushed, database, moment): (Bool, Database, Moment) = try results[1].decode { row in
            let (text, hex): (String, String) = (try row["snapshot"], try row["timeline"])
            guard let snapshot = TransactionSnapshot(text), let timeline = UInt32(hex, radix: 16) else {
                throw UnreadableRow(detail: "the snapshot \(text) on timeline \(hex)")
            }
            let database = Database(
                system: UInt64(bitPattern: try row["system"]),
                oid: UInt32(truncatingIfNeeded: try row["database"] as Int64),
                table: UInt32(truncatingIfNeeded: try row["events"] as Int64),
                timeline: timeline
            )
            return (try row["is_flushed"], database, Moment(snapshot: snapshot, number: number, time: try row["time"]))
        }[0]
        if !isFlushed { _ = try session.run("changes.flush") }
        if session.isDistributed { try PreparedTransactions.wait(session) }
        return (database, moment)
    }

    /// - Throws: `feedReset` for a position of another database or of the future; `feedExpired` if later events may
    ///   have been dropped.
    fileprivate func check(against database: Database, _ now: Moment, retention: Duration) throws(Problem) {
        let last = page?.upper ?? since
        guard self.database == database, last.snapshot.next <= now.snapshot.next, last.number <= now.number else {
            throw Problem(
                .feedReset,
                """
                The position belongs to another database, or to the time before a restore or a failover, so later changes are \
                unknown. Request a position without `after`, list all again, and follow from there.
                """
            )
        }
        guard now.time - since.time < Int64(retention / .milliseconds(1)) else { throw Problem.feedExpired }
    }
}

extension Problem {
    fileprivate static let feedExpired = Problem(
        .feedExpired,
        """
        The position is older than the app's retention of events. Request a position without `after`, list all again, and \
        follow from there.
        """
    )
}

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
        // One or two seconds in total.
        for look in 0..<100 {
            if look > 0 { Thread.sleep(forTimeInterval: 0.01) }
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

    private static let all: SQL = """
        SELECT coalesce(array_agg(part.gid) FILTER (WHERE part.gid <> ''), '{}'), coalesce(bool_and(answer.success), true)
        FROM run_command_on_workers($$
            SELECT coalesce(string_agg(p.gid, ','), '') FROM pg_prepared_xacts p WHERE p.database = current_database()
        $$) AS answer
        LEFT JOIN LATERAL unnest(string_to_array(CASE WHEN answer.success THEN answer.result END, ',')) AS part (gid)
            ON true
        """
}
