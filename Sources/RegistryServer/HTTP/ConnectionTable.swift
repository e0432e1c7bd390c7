/// The open connections by network, as a value without sockets. At the limit, it chooses the connection to close.
///
/// A connection is idle while it waits for a request. The network with the most connections gives one up, so that it
/// does not exclude others.
struct ConnectionTable<Connection> {
    struct Slot: Sendable, Hashable {
        fileprivate let position: Int
        fileprivate let number: Int
    }

    enum Decision {
        /// The caller must close `closing`, which is no longer counted.
        case admitted(Slot, closing: Connection?)
        /// The network is at its limit, or no connection can be closed.
        case refused
    }

    private struct Entry {
        let connection: Connection
        let number: Int
        let network: Name
        var isIdle = true
        /// The number of the last change between idle and busy. Orders connections by age of that change.
        var since: Int
    }

    /// A network can have trusted and other addresses.
    private struct Name: Hashable {
        let network: CallerNetwork?
        let isTrusted: Bool
    }

    let most: Int
    /// For untrusted networks.
    let mostOfNetwork: Int
    private var entries: [Entry?] = []
    private var freePositions: [Int] = []
    private var counts: [Name: Int] = [:]
    private var changes = 0

    init(most: Int, mostOfNetwork: Int) {
        self.most = most
        self.mostOfNetwork = mostOfNetwork
    }

    var count: Int { entries.count - freePositions.count }
    var connections: [Connection] { entries.compactMap { $0?.connection } }

    /// Counts a new, idle connection. `network` is nil without an address. Trusted networks have no limit, and their
    /// busy connections are never closed.
    mutating func admit(_ connection: Connection, from network: CallerNetwork?, isTrusted: Bool) -> Decision {
        let name = Name(network: network, isTrusted: isTrusted)
        if !isTrusted, counts[name, default: 0] >= mostOfNetwork { return .refused }
        var closing: Connection?
        if count >= most {
            guard let position = evictionCandidate() else { return .refused }
            closing = entries[position]?.connection
            remove(position)
        }
        changes += 1
        let entry = Entry(connection: connection, number: changes, network: name, since: changes)
        let position = freePositions.popLast() ?? entries.endIndex
        if position == entries.endIndex { entries.append(entry) } else { entries[position] = entry }
        counts[name, default: 0] += 1
        return .admitted(Slot(position: position, number: entry.number), closing: closing)
    }

    mutating func mark(_ slot: Slot, isIdle: Bool) {
        guard isTaken(slot), entries[slot.position]?.isIdle != isIdle else { return }
        changes += 1
        entries[slot.position]?.isIdle = isIdle
        entries[slot.position]?.since = changes
    }

    /// Has no effect for a connection that was already evicted.
    mutating func remove(_ slot: Slot) {
        if isTaken(slot) { remove(slot.position) }
    }

    private func isTaken(_ slot: Slot) -> Bool { entries[slot.position]?.number == slot.number }

    private mutating func remove(_ position: Int) {
        guard let network = entries[position]?.network else { return }
        entries[position] = nil
        freePositions.append(position)
        let rest = counts[network, default: 1] - 1
        counts[network] = rest == 0 ? nil : rest
    }

    /// Among the networks with the most connections, the longest idle connection, or else the longest busy one. The
    /// linear search through 10,000 connections is faster than accepting one.
    private func evictionCandidate() -> Int? {
        var best: (position: Int, count: Int, entry: Entry)?
        for (position, entry) in entries.enumerated() {
            guard let entry, entry.isIdle || !entry.network.isTrusted else { continue }
            // Neighbours often share a network.
            let count = best?.entry.network == entry.network ? best?.count ?? 0 : counts[entry.network, default: 0]
            guard let known = best else {
                best = (position, count, entry)
                continue
            }
            let isBetter =
                count != known.count
                ? count > known.count
                : entry.isIdle != known.entry.isIdle ? entry.isIdle : entry.since < known.entry.since
            if isBetter { best = (position, count, entry) }
        }
        return best?.position
    }
}
