import Logging
import NIOCore
import RegistryCore
import Synchronization

final class ConnectionCount: Sendable {
    private let trusted: [AddressRange]
    private let logger: Logger
    private let warnings = MinuteThrottle()
    private let table: Mutex<ConnectionTable<any Channel>>

    /// - Parameter trusted: Addresses without a limit: this machine, and proxies, because they have many callers.
    init(_ limits: ServerConfiguration.Limits, trusted: [AddressRange], logger: Logger) {
        self.trusted = trusted
        self.logger = logger
        table = Mutex(ConnectionTable(most: limits.connections, mostOfNetwork: limits.addressConnections))
    }

    var open: Int { table.withLock { $0.count } }

    /// Counts a connection while it is open, and closes the connection that it replaces, if any. The connection's
    /// handlers report to the returned slot whether it is idle.
    func admit(_ channel: any Channel) throws -> ConnectionSlot {
        let address = IPAddress(channel.remoteAddress)
        let network = address.map(CallerNetwork.init(of:))
        let isTrusted = address.map { address in trusted.contains { $0.contains(address) } } ?? true
        let admitted = table.withLock { $0.admit(channel, from: network, isTrusted: isTrusted) }
        guard let (slot, closing) = admitted else {
            let metadata: Logger.Metadata = ["network": "\(network?.description ?? "-")"]
            if isWarningDue { logger.warning("connections are refused: too many are open", metadata: metadata) }
            throw TooManyConnections()
        }
        if let closing {
            if isWarningDue { logger.warning("too many connections are open: idle connections are closed") }
            closing.closeAtOnce()
        }
        channel.closeFuture.whenComplete { [self] _ in table.withLock { $0.remove(slot) } }
        let handler = ConnectionSlot(slot, of: self)
        try channel.pipeline.syncOperations.addHandler(handler)
        return handler
    }

    func closeAll() { for channel in table.withLock({ $0.connections.values }) { channel.closeAtOnce() } }

    func mark(_ slot: ConnectionTable<any Channel>.Slot, isIdle: Bool) {
        table.withLock { $0.mark(slot, isIdle: isIdle) }
    }

    func addRequests(_ change: Int, to slot: ConnectionTable<any Channel>.Slot) -> Bool {
        table.withLock { $0.addRequests(change, to: slot) }
    }

    private var isWarningDue: Bool { warnings.isDue(at: ServiceClock.system.uptime()) }
}

struct TooManyConnections: Error {}

/// The connection's entry in the table. First handler of the pipeline.
final class ConnectionSlot: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let slot: ConnectionTable<any Channel>.Slot
    private let count: ConnectionCount
    /// Active requests. HTTP/2 can have several.
    private(set) var open = 0

    init(_ slot: ConnectionTable<any Channel>.Slot, of count: ConnectionCount) {
        self.slot = slot
        self.count = count
    }

    /// - Returns: Whether the network is within its limit.
    @discardableResult
    func noteOpen(_ change: Int) -> Bool {
        let before = open
        open += change
        if (before == 0) != (open == 0) { count.mark(slot, isIdle: open == 0) }
        return max(before, open) <= 1 || count.addRequests(change, to: slot)
    }
}

extension Channel {
    /// Closes without the final messages of TLS and HTTP/2, because a silent peer would delay the close for seconds.
    func closeAtOnce() {
        eventLoop.execute {
            guard let slot = try? self.pipeline.syncOperations.context(handlerType: ConnectionSlot.self) else {
                return self.close(promise: nil)
            }
            slot.close(promise: nil)
        }
    }
}

/// The open connections by network, as a value without sockets. At the limit, it chooses the connection to close.
///
/// A connection is idle while it waits for a request. The network with the most connections gives one up, so that it
/// does not exclude others.
struct ConnectionTable<Connection> {
    /// Identifies a connection. Slots of closed connections have no effect.
    typealias Slot = Int

    private struct Entry {
        /// An index of `networks`.
        let network: Int
        var isIdle = true
        /// Active requests beyond the first.
        var furtherRequests = 0
        /// The number of the last change between idle and busy. Orders connections by age of that change.
        var since: Int
    }

    /// A network can have trusted and other addresses.
    private struct Name: Hashable {
        let network: CallerNetwork?
        let isTrusted: Bool
    }

    let most: Int
    let mostOfNetwork: Int
    private(set) var connections: [Slot: Connection] = [:]
    private var entries: [Slot: Entry] = [:]
    private var networks: [(name: Name, count: Int)] = []
    private var indexes: [Name: Int] = [:]
    private var freeIndexes: [Int] = []
    private var changes = 0

    init(most: Int, mostOfNetwork: Int) { (self.most, self.mostOfNetwork) = (most, mostOfNetwork) }

    var count: Int { entries.count }

    /// Counts a new, idle connection. `network` is nil without an address. Trusted networks have no limit, and their
    /// busy connections are never closed.
    ///
    /// - Returns: Nil if the network is at its limit, or no connection can be closed. The caller must close `closing`,
    ///   which is no longer counted.
    mutating func admit(
        _ connection: Connection,
        from network: CallerNetwork?,
        isTrusted: Bool
    ) -> (slot: Slot, closing: Connection?)? {
        let name = Name(network: network, isTrusted: isTrusted)
        if !isTrusted, let index = indexes[name], networks[index].count >= mostOfNetwork { return nil }
        var closing: Connection?
        if count >= most {
            guard let candidate = evictionCandidate() else { return nil }
            closing = connections[candidate]
            remove(candidate)
        }
        changes += 1
        let index = index(of: name)
        networks[index].count += 1
        entries[changes] = Entry(network: index, since: changes)
        connections[changes] = connection
        return (changes, closing)
    }

    private mutating func index(of name: Name) -> Int {
        if let index = indexes[name] { return index }
        if freeIndexes.isEmpty {
            freeIndexes.append(networks.count)
            networks.append((name, 0))
        }
        let index = freeIndexes.removeLast()
        networks[index].name = name
        indexes[name] = index
        return index
    }

    mutating func mark(_ slot: Slot, isIdle: Bool) {
        guard let index = entries.index(forKey: slot), entries.values[index].isIdle != isIdle else { return }
        changes += 1
        entries.values[index].isIdle = isIdle
        entries.values[index].since = changes
    }

    /// Further requests of an HTTP/2 connection count like connections.
    ///
    /// - Returns: Whether the network is within its limit.
    mutating func addRequests(_ change: Int, to slot: Slot) -> Bool {
        guard let index = entries.index(forKey: slot) else { return true }
        entries.values[index].furtherRequests += change
        let network = entries.values[index].network
        networks[network].count += change
        return networks[network].name.isTrusted || networks[network].count <= mostOfNetwork
    }

    mutating func remove(_ slot: Slot) {
        guard let entry = entries.removeValue(forKey: slot) else { return }
        connections[slot] = nil
        networks[entry.network].count -= 1 + entry.furtherRequests
        guard networks[entry.network].count == 0 else { return }
        indexes[networks[entry.network].name] = nil
        freeIndexes.append(entry.network)
    }

    /// Among the networks with the most connections, the longest idle connection, or else the longest busy one. The
    /// linear search takes less time than an accept, because it reads numbers and no references.
    private func evictionCandidate() -> Slot? {
        var best: (slot: Slot, rank: (count: Int, idle: Int, age: Int))?
        for (slot, entry) in entries where entry.isIdle || !networks[entry.network].name.isTrusted {
            let rank = (count: networks[entry.network].count, idle: entry.isIdle ? 1 : 0, age: -entry.since)
            if best.map({ rank > $0.rank }) ?? true { best = (slot, rank) }
        }
        return best?.slot
    }
}
