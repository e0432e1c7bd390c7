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

    /// The first number. Change it with the layout.
    private static let version: UInt64 = 1

    /// Numbers, each with a dot after it. Not signed, because a position grants no right.
    package var text: String {
        let rest = [database.oid, database.table, database.timeline].map(UInt64.init)
        var numbers = [Self.version, database.system] + rest + since.numbers
        numbers += [UInt64(low), mark?.transaction ?? 0, UInt64(mark?.number ?? 0)]
        if let page { numbers += page.upper.numbers + [UInt64(page.last)] }
        return numbers.map { "\($0)." }.joined()
    }

    package init(_ text: String) throws(JSONFaultReason) {
        var numbers = text.split(separator: ".").compactMap { UInt64($0) }[...]
        guard let position = Self.read(&numbers), position.text == text, position.isConsistent else {
            throw JSONFaultReason("is not a position of the change feed; send the value of `after` unchanged")
        }
        self = position
    }

    private static func read(_ numbers: inout ArraySlice<UInt64>) -> ChangePosition? {
        guard numbers.popFirst() == version, let system = numbers.popFirst(), let oid = numbers.popShort(),
            let table = numbers.popShort(), let timeline = numbers.popShort(), let since = Moment(&numbers),
            let low = numbers.popBounded(), let transaction = numbers.popFirst(), let number = numbers.popBounded()
        else { return nil }
        var position = ChangePosition(
            database: Database(system: system, oid: oid, table: table, timeline: timeline),
            since: since,
            low: low,
            mark: transaction > 0 ? Mark(transaction: transaction, number: number) : nil,
            page: nil
        )
        guard !numbers.isEmpty else { return position }
        guard let upper = Moment(&numbers), let last = numbers.popBounded() else { return nil }
        position.page = Page(upper: upper, last: last)
        return position
    }

    private var isConsistent: Bool {
        low <= since.number && mark.map { low < $0.number && $0.number <= since.number } ?? true
            && page.map { since.snapshot.next <= $0.upper.snapshot.next && since.number <= $0.upper.number } ?? true
    }
}

extension ChangePosition.Moment {
    /// A transaction is the difference from the one before it, to keep positions short.
    fileprivate var numbers: [UInt64] {
        let (oldest, running) = (snapshot.oldest, snapshot.running)
        let differences = zip([oldest] + running, running).map { $1 - $0 }
        return [oldest, snapshot.next - oldest, UInt64(running.count)] + differences + [UInt64(number), UInt64(time)]
    }

    fileprivate init?(_ numbers: inout ArraySlice<UInt64>) {
        guard let oldest = numbers.popBounded(), let length = numbers.popBounded(), let count = numbers.popBounded(),
            count <= numbers.count
        else { return nil }
        var last = UInt64(oldest)
        let running = numbers.prefix(Int(count)).map { difference in
            last &+= difference
            return last
        }
        numbers.removeFirst(running.count)
        guard
            let snapshot = TransactionSnapshot(oldest: UInt64(oldest), next: UInt64(oldest + length), running: running),
            let number = numbers.popBounded(), let time = numbers.popBounded()
        else { return nil }
        self.init(snapshot: snapshot, number: number, time: time)
    }
}

extension ArraySlice<UInt64> {
    /// Below 2^62, so that additions cannot overflow.
    fileprivate mutating func popBounded() -> Int64? { popFirst().flatMap { $0 < 1 << 62 ? Int64($0) : nil } }
    fileprivate mutating func popShort() -> UInt32? { popFirst().flatMap(UInt32.init(exactly:)) }
}

/// Postgres's `pg_snapshot`: `xmin:xmax:running,…`.
struct TransactionSnapshot: Sendable, Hashable {
    /// All earlier transactions are over.
    let oldest: UInt64
    /// This and later transactions were not over; Postgres does not list those that were running.
    let next: UInt64
    /// Running transactions from `oldest` to `next`, ascending.
    let running: [UInt64]

    init?(oldest: UInt64, next: UInt64, running: [UInt64]) {
        guard oldest > 0, oldest <= next, next < 1 << 63, oldest <= running.first ?? next,
            zip(running, running.dropFirst() + [next]).allSatisfy(<)
        else { return nil }
        self.oldest = oldest
        self.next = next
        self.running = running
    }

    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let oldest = UInt64(parts[0]), let next = UInt64(parts[1]) else { return nil }
        let running = parts[2].split(separator: ",").map { UInt64($0) }
        guard !running.contains(nil) else { return nil }
        self.init(oldest: oldest, next: next, running: running.compactMap(\.self))
    }

    var text: UTF8Text { UTF8Text("\(oldest):\(next):\(running.map(String.init).joined(separator: ","))") }
}
