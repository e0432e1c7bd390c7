import RegistryCore

extension ChangePosition {
    /// The first byte. Change it with the layout.
    private static let version: UInt8 = 1
    /// Bounds the running transactions of a snapshot, far above a server's connections.
    private static let mostRunning = 20_000

    /// Base64url of varints (seven bits per byte). Not signed, because a position grants no right.
    package var text: String {
        var bytes = [Self.version]
        func append(_ number: UInt64) {
            var rest = number
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        func append(_ moment: Moment) {
            append(moment.snapshot.oldest)
            append(moment.snapshot.next - moment.snapshot.oldest)
            append(UInt64(moment.snapshot.running.count))
            for transaction in moment.snapshot.running { append(transaction - moment.snapshot.oldest) }
            append(UInt64(moment.number))
            append(UInt64(moment.time))
        }
        append(database.system)
        append(UInt64(database.oid))
        append(UInt64(database.table))
        append(UInt64(database.timeline))
        append(since)
        append(UInt64(low))
        append(mark?.transaction ?? 0)
        if let mark { append(UInt64(mark.number)) }
        if let page {
            append(page.upper)
            append(UInt64(page.last))
        }
        return Base64URL.encode(bytes)
    }

    package init(_ text: String) throws(JSONFaultReason) {
        var reader = Reader(bytes: Base64URL.decode(text).map(Array.init) ?? [])
        guard let position = Self.read(&reader), reader.isAtEnd, position.text == text, position.isConsistent else {
            throw JSONFaultReason("is not a position of the change feed; send the value of `after` unchanged")
        }
        self = position
    }

    private static func read(_ reader: inout Reader) -> ChangePosition? {
        guard reader.byte() == version, let system = reader.number(), let oid = reader.number32(),
            let table = reader.number32(), let timeline = reader.number32(), let since = readMoment(&reader),
            let low = reader.signed(),
            let transaction = reader.number()
        else { return nil }
        var mark: Mark?
        if transaction > 0 {
            guard let number = reader.signed() else { return nil }
            mark = Mark(transaction: transaction, number: number)
        }
        var position = ChangePosition(
            database: Database(system: system, oid: oid, table: table, timeline: timeline),
            since: since,
            low: low,
            mark: mark,
            page: nil
        )
        guard !reader.isAtEnd else { return position }
        guard let upper = readMoment(&reader), let last = reader.signed() else { return nil }
        position.page = Page(upper: upper, last: last)
        return position
    }

    private static func readMoment(_ reader: inout Reader) -> Moment? {
        guard let oldest = reader.number(), let length = reader.number(), let count = reader.number(),
            count <= mostRunning, oldest < 1 << 62, length < 1 << 62
        else { return nil }
        var running: [UInt64] = []
        for _ in 0..<count {
            guard let offset = reader.number(), offset < length else { return nil }
            running.append(oldest + offset)
        }
        guard let snapshot = TransactionSnapshot(oldest: oldest, next: oldest + length, running: running),
            let number = reader.signed(), let time = reader.signed()
        else { return nil }
        return Moment(snapshot: snapshot, number: number, time: time)
    }

    private var isConsistent: Bool {
        low <= since.number && mark.map { low < $0.number && $0.number <= since.number } ?? true
            && page.map { since.snapshot.next <= $0.upper.snapshot.next && since.number <= $0.upper.number } ?? true
    }

    private struct Reader {
        let bytes: [UInt8]
        private var index = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { index == bytes.count }

        mutating func byte() -> UInt8? {
            guard index < bytes.count else { return nil }
            defer { index += 1 }
            return bytes[index]
        }

        mutating func number() -> UInt64? {
            var (value, shift) = (UInt64(0), UInt64(0))
            while let byte = byte(), shift < 64 {
                let part = UInt64(byte & 0x7F)
                guard (part << shift) >> shift == part else { return nil }
                value |= part << shift
                guard byte & 0x80 != 0 else { return value }
                shift += 7
            }
            return nil
        }

        /// Bounded, so that additions cannot overflow.
        mutating func signed() -> Int64? { number().flatMap { $0 < 1 << 62 ? Int64($0) : nil } }
        mutating func number32() -> UInt32? { number().flatMap { UInt32(exactly: $0) } }
    }
}
