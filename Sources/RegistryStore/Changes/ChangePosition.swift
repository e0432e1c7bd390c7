import Foundation
import RegistryCore

/// The position in the change feed up to which a caller knows all changes.
///
/// Transactions commit in another order than they draw event numbers, so a number cannot be a position. A snapshot can:
/// a row visible now but not to the snapshot is new. `low`, below which no new row can appear, bounds the reads.
package struct ChangePosition: Sendable, Hashable {
    /// Identifies the database. A restored database and a promoted standby have other identities.
    struct Database: Sendable, Hashable {
        let system: UInt64
        let oid: UInt32
        /// The events table's OID; restoring a dump creates another table.
        let table: UInt32
        let timeline: UInt32
    }

    /// A snapshot, and the last event number drawn before it. Both are durable.
    struct Moment: Sendable, Hashable {
        let snapshot: TransactionSnapshot
        let number: Int64
        /// In milliseconds since 1970, by Postgres's clock.
        let time: Int64
    }

    let database: Database
    /// The caller knows all changes visible at this moment.
    var since: Moment
    /// Every event not visible in `since` has a greater number.
    var low: Int64
    /// An earlier moment that yields the next bound; nil if no number was drawn since the bound.
    var mark: Mark?
    var page: Page?

    /// A number, and a transaction id assigned after the number was drawn. Later ids draw greater numbers, so once all
    /// transactions up to this id are over, every new event has a greater number.
    struct Mark: Sendable, Hashable {
        let transaction: UInt64
        let number: Int64
    }

    struct Page: Sendable, Hashable {
        let upper: Moment
        let last: Int64
    }

    package var time: Date { Date(timeIntervalSince1970: Double(since.time) / 1000) }

    func moved(to moment: Moment) -> ChangePosition {
        var moved = self
        moved.page = nil
        moved.since = moment
        if let mark, moment.snapshot.oldest > mark.transaction {
            moved.low = max(low, mark.number)
            moved.mark = nil
        }
        return moved
    }

    var needsMark: Bool { mark == nil && page == nil && since.number > low }

    /// The position after a page of the events before `upper`, up to a number.
    func moved(within upper: Moment, to last: Int64) -> ChangePosition {
        var moved = self
        moved.page = Page(upper: upper, last: last)
        return moved
    }
}

extension ChangePosition {
    /// The position from now on.
    ///
    /// - Parameters:
    ///   - mark: from an earlier moment.
    ///   - fallback: how far below the current number the bound is until the mark is reached.
    init(database: Database, now: Moment, mark: Mark, fallback: Int64) {
        let isReached = now.snapshot.oldest > mark.transaction
        self.init(
            database: database,
            since: now,
            low: isReached ? mark.number : max(0, now.number - fallback),
            mark: isReached ? nil : mark,
            page: nil
        )
    }
}
