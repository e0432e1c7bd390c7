/// The open connections, by network, and the choice of the one that gives way to a new one: a value without sockets.
///
/// A connection is idle while it waits for a request. At the limit, the network with the most connections gives up one, so that a
/// holder of many connections does not exclude others.
struct ConnectionTable<Connection> {
    struct Slot: Sendable, Hashable {
        fileprivate let position: Int
        fileprivate let number: Int
    }

    enum Decision {
        /// Admitted; `closing`, if any, must be closed, and no longer counts.
        case admitted(Slot, closing: Connection?)
        /// Its network is at its limit, or no connection can give way.
        case refused
    }

    private struct Entry {
        let connection: Connection
        let number: Int
        let network: Name
        var isIdle = true
        /// The number of the change since which it is idle or busy.
        var since: Int
    }

    /// Some addresses of a network may be trusted and others not.
    private struct Name: Hashable {
        let network: CallerNetwork?
        let isTrusted: Bool
    }

    let most: Int
    /// The limit of an untrusted network.
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

    /// Counts a new connection, which is idle.
    ///
    /// - Parameters:
    ///   - network: nil for one without an address.
    ///   - isTrusted: the network has no limit, and its connections are not closed before their responses.
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

    /// A connection that gave way was already removed.
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

    /// Of the networks with the most connections, the one that is idle the longest, or if none is idle the oldest busy one. A trusted
    /// network gives up only idle ones. A search among 10,000 takes less time than the accepting of a connection.
    private func evictionCandidate() -> Int? {
        var best: (position: Int, count: Int, entry: Entry)?
        for (position, entry) in entries.enumerated() {
            guard let entry, entry.isIdle || !entry.network.isTrusted else { continue }
            // Most are of a network that was just looked at.
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
