import RegistryCore

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

    var text: UTF8Text {
        UTF8Text("\(oldest):\(next):\(running.map(String.init).joined(separator: ","))")
    }
}
