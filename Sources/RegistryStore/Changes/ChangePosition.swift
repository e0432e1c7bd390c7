import Foundation
import RegistryCore

/// The position in the change feed up to which a caller knows all changes.
///
/// Transactions commit in another order than they draw event numbers, so a number is no position. A snapshot is: a row
/// visible now and not visible then is new. The number below which no new row can appear bounds the reads.
package struct ChangePosition: Sendable, Hashable {
    /// The position's database; it differs from any other, from a restored one and from a promoted standby.
    struct Database: Sendable, Hashable {
        let system: UInt64
        let oid: UInt32
        /// The table of events; a restored dump creates a new one.
        let table: UInt32
        let timeline: UInt32
    }

    /// A snapshot, with the last event number that had been drawn before it was taken. Both outlast a crash.
    struct Moment: Sendable, Hashable {
        let snapshot: TransactionSnapshot
        let number: Int64
        /// In milliseconds since 1970, by Postgres's clock.
        let time: Int64
    }

    let database: Database
    /// The caller knows all changes that this moment sees.
    var since: Moment
    /// Every event that `since` does not see has a greater number.
    var low: Int64
    /// An earlier moment from which the next bound follows; nil if no number was drawn since the bound.
    var mark: Mark?
    /// Set while the pages between two snapshots are read: the later snapshot, and the last number told.
    var page: Page?

    /// A number, and the id of a transaction begun after the number was drawn. Any later id draws a greater number; so
    /// once all ids up to it are over, no new event has this number or a smaller one.
    struct Mark: Sendable, Hashable {
        let transaction: UInt64
        let number: Int64
    }

    struct Page: Sendable, Hashable {
        let upper: Moment
        let last: Int64
    }

    package var time: Date { Date(timeIntervalSince1970: Double(since.time) / 1000) }

    /// The position from now on.
    ///
    /// - Parameters:
    ///   - mark: of a moment before now.
    ///   - fallback: how many numbers further back than now the bound is while the mark is not reached.
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

    init(database: Database, since: Moment, low: Int64, mark: Mark?, page: Page?) {
        self.database = database
        self.since = since
        self.low = low
        self.mark = mark
        self.page = page
    }

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

    /// The position after a page of the events before a moment, up to a number.
    func moved(within upper: Moment, to last: Int64) -> ChangePosition {
        var moved = self
        moved.page = Page(upper: upper, last: last)
        return moved
    }
}
