/// The open connections by network, as a value without sockets. At the limit, it chooses the connection to close.
///
/// A connection is idle while it waits for a request. The network with the most connections gives one up, so that it
/// does not exclude others.
struct ConnectionTable<Connection> {
    /// Identifies a connection. Slots of closed connections have no effect.
    typealias Slot = Int

    enum Decision {
        /// The caller must close `closing`, which is no longer counted.
        case admitted(Slot, closing: Connection?)
        /// The network is at its limit, or no connection can be closed.
        case refused
    }

    private struct Entry {
        let connection: Connection
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
    private var entries: [Slot: Entry] = [:]
    private var counts: [Name: Int] = [:]
    private var changes = 0

    init(most: Int, mostOfNetwork: Int) {
        self.most = most
        self.mostOfNetwork = mostOfNetwork
    }

    var count: Int { entries.count }
    var connections: [Connection] { entries.values.map(\.connection) }

    /// Counts a new, idle connection. `network` is nil without an address. Trusted networks have no limit, and their
    /// busy connections are never closed.
    mutating func admit(_ connection: Connection, from network: CallerNetwork?, isTrusted: Bool) -> Decision {
        let name = Name(network: network, isTrusted: isTrusted)
        if !isTrusted, counts[name, default: 0] >= mostOfNetwork { return .refused }
        var closing: Connection?
        if count >= most {
            guard let candidate = evictionCandidate() else { return .refused }
            closing = entries[candidate]?.connection
            remove(candidate)
        }
        changes += 1
        entries[changes] = Entry(connection: connection, network: name, since: changes)
        counts[name, default: 0] += 1
        return .admitted(changes, closing: closing)
    }

    mutating func mark(_ slot: Slot, isIdle: Bool) {
        guard let index = entries.index(forKey: slot), entries.values[index].isIdle != isIdle else { return }
        changes += 1
        entries.values[index].isIdle = isIdle
        entries.values[index].since = changes
    }

    mutating func remove(_ slot: Slot) {
        guard let network = entries.removeValue(forKey: slot)?.network else { return }
        let rest = counts[network, default: 1] - 1
        counts[network] = rest == 0 ? nil : rest
    }

    /// Among the networks with the most connections, the longest idle connection, or else the longest busy one. The
    /// linear search through 10,000 connections is faster than accepting one.
    private func evictionCandidate() -> Slot? {
        var best: (slot: Slot, count: Int, entry: Entry)?
        for (slot, entry) in entries where entry.isIdle || !entry.network.isTrusted {
            // Most connections share a network.
            let count = best?.entry.network == entry.network ? best?.count ?? 0 : counts[entry.network, default: 0]
            guard let known = best else {
                best = (slot, count, entry)
                continue
            }
            let isBetter =
                count != known.count
                ? count > known.count
                : entry.isIdle != known.entry.isIdle ? entry.isIdle : entry.since < known.entry.since
            if isBetter { best = (slot, count, entry) }
        }
        return best?.slot
    }
}
