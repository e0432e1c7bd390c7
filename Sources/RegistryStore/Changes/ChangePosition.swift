import Foundation
import RegistryCore

/// The place in the change feed up to which a caller was told everything.
///
/// Numbers of events are drawn in another order than their transactions are committed, so no number is such a place. A
/// snapshot is: what is visible now and was not visible then is new. The number below which nothing new can be bounds how
/// much is read.
package struct ChangePosition: Sendable, Hashable {
    /// The database that it is a position of; another one, a restored one and a promoted standby are told apart from it.
    struct Database: Sendable, Hashable {
        let system: UInt64
        let oid: UInt32
        /// The table of events; a dump that is restored makes it anew.
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
    /// The moment up to which everything was told: all that it sees.
    var since: Moment
    /// The bound of numbers: all that `since` does not see is greater.
    var low: Int64
    /// An earlier moment that is to give the next bound; nil where no number was drawn since the bound.
    var mark: Mark?
    /// While pages of what is between two snapshots are read: the later one, and the last number that was told.
    var page: Page?

    /// A number, and the id that a transaction was given after the number had been drawn. Whoever has a later id draws a greater
    /// number; so once all up to the id are over, nothing new has the number or a smaller one.
    struct Mark: Sendable, Hashable {
        let transaction: UInt64
        let number: Int64
    }

    struct Page: Sendable, Hashable {
        let upper: Moment
        let last: Int64
    }

    /// When everything up to it was told, by Postgres's clock.
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

    /// The position when all up to a moment was told.
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

    /// Whether a new mark would give a greater bound.
    var needsMark: Bool { mark == nil && page == nil && since.number > low }

    /// The position when a page of what lies before a moment was told, up to a number.
    func moved(within upper: Moment, to last: Int64) -> ChangePosition {
        var moved = self
        moved.page = Page(upper: upper, last: last)
        return moved
    }
}
