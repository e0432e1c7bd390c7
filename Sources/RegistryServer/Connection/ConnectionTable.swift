/// The open connections, by network, and the choice of the one that gives way to a new one: a value without sockets.
///
/// A connection is idle while it waits for a request. At the limit, a network with the most connections gives up one,
/// so that a holder of many connections does not exclude others. The choice needs no search: networks with equal
/// numbers are linked in chains.
struct ConnectionTable<Connection> {
    struct Slot: Sendable, Hashable {
        fileprivate let place: Int
        fileprivate let generation: Int
    }

    enum Decision {
        /// Admitted; `closing`, if any, must be closed, and no longer counts.
        case admitted(Slot, closing: Connection?)
        /// Its network is at its limit, or no connection can give way.
        case refused
    }

    let most: Int
    /// The limit of an untrusted network.
    let mostOfNetwork: Int
    private(set) var count = 0

    private var entries: [Entry] = []
    private var freeEntries: [Int] = []
    private var entryLinks = ChainLinks()
    private var networks: [Network] = []
    private var freeNetworks: [Int] = []
    private var networkLinks = ChainLinks()
    private var places: [Name: Int] = [:]
    /// The networks of each rank, by the number of their connections, in the order of their arrival.
    private var ranks: [IdleAndBusy] = []

    init(most: Int, mostOfNetwork: Int) {
        self.most = most
        self.mostOfNetwork = mostOfNetwork
    }

    /// Counts a new connection, which is idle.
    ///
    /// - Parameters:
    ///   - network: nil for one without an address.
    ///   - isTrusted: the network has no limit, and its connections are not closed before their answers.
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

    mutating func note(_ slot: Slot, isIdle: Bool) {
        guard isTaken(slot), entries[slot.place].isIdle != isIdle else { return }
        unlink(slot.place)
        append(slot.place, isIdle: isIdle)
        settle(entries[slot.place].network)
    }

    /// A connection that gave way was already removed.
    mutating func remove(_ slot: Slot) {
        if isTaken(slot) { remove(slot.place) }
    }

    private func isTaken(_ slot: Slot) -> Bool { entries[slot.place].generation == slot.generation }
}

extension ConnectionTable {
    /// The longest idle connection of a network with the most, or if none is idle its oldest busy one. A trusted
    /// network gives up only idle ones.
    ///
    /// Among equal networks, those with an idle connection come first, and of these the one with the earliest arrival
    /// in its rank. If each has one connection, that is the longest idle of all.
    private mutating func evictionCandidate() -> Int? {
        // Empty ranks at the end were left by networks with more connections.
        while let fullest = ranks.last {
            if let network = fullest.first { return networks[network].connections.first }
            ranks.removeLast()
        }
        return nil
    }

    /// Moves a changed network to the end of its new rank.
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
    private struct Entry {
        var connection: Connection?
        var generation = 0
        var network = 0
        var isIdle = true
    }

    /// A chain of the idle ones or of those with idle ones, and one of the others.
    private struct IdleAndBusy {
        private var idle = Chain()
        private var busy = Chain()

        /// The first idle one, or else the first of the others.
        var first: Int? { idle.first ?? busy.first }

        subscript(isIdle: Bool) -> Chain {
            get { isIdle ? idle : busy }
            set { if isIdle { idle = newValue } else { busy = newValue } }
        }
    }

    /// The order in which networks give way.
    private struct Rank: Hashable {
        let count: Int
        let hasIdle: Bool
    }

    private struct Network {
        let name: Name
        var count = 0
        /// In the order in which they became idle or busy.
        var connections = IdleAndBusy()
        /// The current list; nil if it need not give way.
        var rank: Rank?

        init(name: Name) { self.name = name }

        /// The rank that it should have: none without connections, and none while it is trusted and has no idle one.
        var currentRank: Rank? {
            let hasIdle = connections[true].first != nil
            return count == 0 || (name.isTrusted && !hasIdle) ? nil : Rank(count: count, hasIdle: hasIdle)
        }
    }

    /// Some addresses of a network may be trusted and others not.
    private struct Name: Hashable {
        let network: CallerNetwork?
        let isTrusted: Bool
    }
}
