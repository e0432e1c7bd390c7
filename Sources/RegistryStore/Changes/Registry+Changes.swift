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
        let mark = try await read { session in try Self.mark(Self.moment(session).moment, session) }
        var (database, now) = try await read(Self.moment)
        // Most transactions take milliseconds. A longer transaction makes later reads larger, but no change is lost.
        for _ in 0..<8 where now.snapshot.oldest <= mark.transaction {
            try await Task.sleep(for: .milliseconds(10))
            (database, now) = try await read(Self.moment)
        }
        return ChangePosition(database: database, now: now, mark: mark, fallback: Self.mostChangeNumbers / 2)
    }

    /// - Parameter limit: maximum events to read; some are not changes.
    /// - Throws: `feedExpired` or `feedReset`, which require a new listing; `unavailable`.
    package func changes(after position: ChangePosition, limit: Int, in scope: Scope) async throws -> ChangePage {
        try await read { session in
            let (database, moment) = try Self.moment(session)
            try position.check(against: database, moment, retention: scope.app.settings.eventRetention)
            let upper = position.page?.upper ?? moment
            guard upper.snapshot != position.since.snapshot else {
                return ChangePage(changes: [], position: try Self.move(position, to: upper, session), hasMore: false)
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
            let next = try Self.move(position, to: upper, session)
            return ChangePage(changes: changes, position: next, hasMore: position.page != nil)
        }
    }

    private static func move(
        _ position: ChangePosition,
        to upper: ChangePosition.Moment,
        _ session: borrowing PostgresSession
    ) throws -> ChangePosition {
        var next = position.moved(to: upper)
        if next.needsMark { next.mark = try mark(upper, session) }
        return next
    }

    private static func mark(
        _ moment: ChangePosition.Moment,
        _ session: borrowing PostgresSession
    ) throws -> ChangePosition.Mark {
        let text = try session.execute(Query("changes.read-mark")())[0].decode(String.self)
        guard let transaction = UInt64(text) else { throw UnreadableRow(detail: "the transaction id \(text)") }
        return ChangePosition.Mark(transaction: transaction, number: moment.number)
    }

    /// Flushes to disk. Otherwise Postgres could reuse its numbers after a crash, and events of other transactions
    /// would be skipped.
    static func moment(
        _ session: borrowing PostgresSession
    ) throws -> (database: ChangePosition.Database, moment: ChangePosition.Moment) {
        let results = try session.pipeline([Query("changes.read-last-number")(), Query("changes.read-moment")()])
        let number = try results[0].decode { try $0["number"] as Int64 }[0]
        let (text, time, isFlushed, system, oid, table, timeline) = try results[1][0].decode(
            String.self,
            Int64.self,
            Bool.self,
            Int64.self,
            Int64.self,
            Int64.self,
            String.self
        )
        guard let snapshot = TransactionSnapshot(text), let timeline = UInt32(timeline, radix: 16) else {
            throw UnreadableRow(detail: "the snapshot \(text) on timeline \(timeline)")
        }
        if !isFlushed { _ = try session.run("changes.flush") }
        if session.isDistributed { try PreparedTransactions.wait(session) }
        return (
            ChangePosition.Database(
                system: UInt64(bitPattern: system),
                oid: UInt32(truncatingIfNeeded: oid),
                table: UInt32(truncatingIfNeeded: table),
                timeline: timeline
            ),
            ChangePosition.Moment(snapshot: snapshot, number: number, time: time)
        )
    }
}

extension ChangePosition {
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
        guard now.time - since.time < Int64(retention / .milliseconds(1)) else {
            throw Problem.feedExpired
        }
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
