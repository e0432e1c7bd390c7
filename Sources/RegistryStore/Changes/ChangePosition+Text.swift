import RegistryCore

extension ChangePosition {
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
