/// The connections that are open, by network, and the one that gives way to a newcomer: a value without sockets.
///
/// A connection is idle while it waits for a request. When as many are open as there may be, a network that holds the
/// most gives up one, so that nobody who merely holds many keeps others out. Which one is known without a search: networks
/// that hold as many hang together in chains.
struct ConnectionTable<Connection> {
    /// The name of a connection; no other gets the same.
    struct Slot: Sendable, Hashable {
        fileprivate let place: Int
        fileprivate let generation: Int
    }

    /// The fate of a newcomer.
    enum Decision {
        /// Let in; if one is named, it has to be closed, and is not counted any more.
        case admitted(Slot, closing: Connection?)
        /// Its network has as many as it may, or there is none that could give way.
        case refused
    }

    /// How many there may be in all.
    let most: Int
    /// How many a network may have that is not trusted.
    let mostOfNetwork: Int
    /// How many there are.
    private(set) var count = 0

    private var entries: [Entry] = []
    private var freeEntries: [Int] = []
    private var entryLinks = ChainLinks()
    private var networks: [Network] = []
    private var freeNetworks: [Int] = []
    private var networkLinks = ChainLinks()
    private var places: [Name: Int] = [:]
    /// The networks of each rank, by the number of their connections, in the order in which they came to it.
    private var ranks: [IdleAndBusy] = []

    init(most: Int, mostOfNetwork: Int) {
        self.most = most
        self.mostOfNetwork = mostOfNetwork
    }

    /// Counts a newcomer, which is idle.
    ///
    /// - Parameters:
    ///   - network: nil for what has no address.
    ///   - isTrusted: Whether there may be any number of that network, of which none is closed before its answer.
    mutating func admit(_ connection: Connection, from network: CallerNetwork?, isTrusted: Bool) -> Decision {
        let name = Name(network: network, isTrusted: isTrusted)
        if !isTrusted, let place = places[name], networks[place].count >= mostOfNetwork { return .refused }
        var closing: Connection?
        if count >= most {
            guard let place = evictionCandidate() else { return .refused }
            closing = entries[place].connection
            remove(place)
        }
        let place = freeEntries.popLast() ?? entries.endIndex
        if place == entries.endIndex { entries.append(Entry()) }
        let newNetwork = placeOfNetwork(name)
        entries[place].connection = connection
        entries[place].network = newNetwork
        networks[newNetwork].count += 1
        count += 1
        append(place, isIdle: true)
        settle(newNetwork)
        return .admitted(Slot(place: place, generation: entries[place].generation), closing: closing)
    }

    /// Notes that a connection has begun a request, or that it waits for one again.
    mutating func note(_ slot: Slot, isIdle: Bool) {
        guard isTaken(slot), entries[slot.place].isIdle != isIdle else { return }
        unlink(slot.place)
        append(slot.place, isIdle: isIdle)
        settle(entries[slot.place].network)
    }

    /// Notes that a connection has ended; of one that gave way that is known already.
    mutating func remove(_ slot: Slot) {
        if isTaken(slot) { remove(slot.place) }
    }

    private func isTaken(_ slot: Slot) -> Bool { entries[slot.place].generation == slot.generation }
}

extension ConnectionTable {
    /// The connection that is idle the longest of a network that holds the most, or if none is idle its oldest busy one. A
    /// trusted network gives up idle ones only.
    ///
    /// Of networks that hold as many, those with an idle connection come first, and of these the one that has had as many
    /// for the longest. Where each holds one, that is the connection that is idle the longest of all.
    private mutating func evictionCandidate() -> Int? {
        // Empty ones at the end were left behind by networks that held more.
        while let fullest = ranks.last {
            if let network = fullest.first { return networks[network].connections.first }
            ranks.removeLast()
        }
        return nil
    }

    /// Puts a network whose connections have changed to the end of those of its new rank, unless it is the one that it had.
    private mutating func settle(_ network: Int) {
        let rank = networks[network].currentRank
        guard rank != networks[network].rank else { return }
        if let old = networks[network].rank {
            networkLinks.remove(network, from: &ranks[old.count - 1][old.hasIdle])
        }
        networks[network].rank = rank
        guard let rank else { return }
        while ranks.count < rank.count { ranks.append(IdleAndBusy()) }
        networkLinks.append(network, to: &ranks[rank.count - 1][rank.hasIdle])
    }

    private mutating func placeOfNetwork(_ name: Name) -> Int {
        if let place = places[name] { return place }
        let place = freeNetworks.popLast() ?? networks.endIndex
        if place == networks.endIndex {
            networks.append(Network(name: name))
        } else {
            networks[place] = Network(name: name)
        }
        places[name] = place
        return place
    }

    private mutating func remove(_ place: Int) {
        unlink(place)
        let network = entries[place].network
        entries[place].connection = nil
        entries[place].generation += 1
        freeEntries.append(place)
        count -= 1
        networks[network].count -= 1
        settle(network)
        guard networks[network].count == 0 else { return }
        places[networks[network].name] = nil
        freeNetworks.append(network)
    }

    private mutating func append(_ place: Int, isIdle: Bool) {
        entries[place].isIdle = isIdle
        entryLinks.append(place, to: &networks[entries[place].network].connections[isIdle])
    }

    private mutating func unlink(_ place: Int) {
        let (network, isIdle) = (entries[place].network, entries[place].isIdle)
        entryLinks.remove(place, from: &networks[network].connections[isIdle])
    }
}

extension ConnectionTable {
    /// A connection, in one of the two chains of its network.
    private struct Entry {
        var connection: Connection?
        var generation = 0
        var network = 0
        var isIdle = true
    }

    /// A chain of those that are idle or have idle ones, and one of the others.
    private struct IdleAndBusy {
        private var idle = Chain()
        private var busy = Chain()

        /// The first of the idle, or else of the others.
        var first: Int? { idle.first ?? busy.first }

        subscript(isIdle: Bool) -> Chain {
            get { isIdle ? idle : busy }
            set { if isIdle { idle = newValue } else { busy = newValue } }
        }
    }

    /// The facts about a network by which it gives way before another.
    private struct Rank: Hashable {
        let count: Int
        let hasIdle: Bool
    }

    private struct Network {
        let name: Name
        var count = 0
        /// The connections in the order in which they became idle or busy.
        var connections = IdleAndBusy()
        /// The rank under which it is listed; nil where it need not give way.
        var rank: Rank?

        init(name: Name) { self.name = name }

        /// The rank that it should have: none without connections, and none while it is trusted and has no idle one.
        var currentRank: Rank? {
            let hasIdle = connections[true].first != nil
            return count == 0 || (name.isTrusted && !hasIdle) ? nil : Rank(count: count, hasIdle: hasIdle)
        }
    }

    /// Of one network some addresses may be trusted and others not.
    private struct Name: Hashable {
        let network: CallerNetwork?
        let isTrusted: Bool
    }
}
