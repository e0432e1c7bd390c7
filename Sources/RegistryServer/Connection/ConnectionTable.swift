/// The connections that are open, by network, and the one that gives way to a newcomer: a value without sockets.
///
/// A connection is idle while it waits for a request. When as many are open as there may be, the network that holds the
/// most gives up one, so that nobody who merely holds many keeps others out.
struct ConnectionTable<Connection> {
    /// The name of a connection; no other gets the same.
    struct Seat: Sendable, Hashable {
        fileprivate let place: Int
        fileprivate let generation: Int
    }

    /// The fate of a newcomer.
    enum Decision {
        /// Let in; if one is named, it has to be closed, and is not counted any more.
        case admitted(Seat, closing: Connection?)
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
    private var networks: [Network] = []
    private var freeNetworks: [Int] = []
    private var places: [Name: Int] = [:]
    /// Grows with every change, so that it tells what was earlier.
    private var time = 0

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
            guard let place = placeOfWhoGivesWay() else { return .refused }
            closing = entries[place].connection
            remove(place)
        }
        let place = freeEntries.popLast() ?? entries.endIndex
        if place == entries.endIndex { entries.append(Entry()) }
        entries[place].connection = connection
        entries[place].network = placeOfNetwork(name)
        networks[entries[place].network].count += 1
        count += 1
        append(place, isIdle: true)
        return .admitted(Seat(place: place, generation: entries[place].generation), closing: closing)
    }

    /// Notes that a connection has begun a request, or that it waits for one again.
    mutating func note(_ seat: Seat, isIdle: Bool) {
        guard isTaken(seat), entries[seat.place].isIdle != isIdle else { return }
        unlink(seat.place)
        append(seat.place, isIdle: isIdle)
    }

    /// Notes that a connection has ended; of one that gave way that is known already.
    mutating func remove(_ seat: Seat) {
        if isTaken(seat) { remove(seat.place) }
    }

    private func isTaken(_ seat: Seat) -> Bool { entries[seat.place].generation == seat.generation }
}

extension ConnectionTable {
    /// The oldest idle connection of the network that holds the most, or if none is idle its oldest. A trusted network gives
    /// up idle ones only.
    private func placeOfWhoGivesWay() -> Int? {
        var found: Network?
        for network in networks where network.count > 0 && (!network.name.isTrusted || network.idle.first != nil) {
            if found.map({ isBefore(network, $0) }) ?? true { found = network }
        }
        return found.flatMap { $0.idle.first ?? $0.busy.first }
    }

    /// The network that holds more gives way first; of those that hold as many, one with an idle connection, and the longer
    /// it is idle the sooner.
    private func isBefore(_ one: Network, _ other: Network) -> Bool {
        guard one.count == other.count else { return one.count > other.count }
        func order(_ network: Network) -> (Int, Int) {
            let place = network.idle.first ?? network.busy.first
            return (network.idle.first == nil ? 1 : 0, place.map { entries[$0].since } ?? .max)
        }
        return order(one) < order(other)
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
        guard networks[network].count == 0 else { return }
        places[networks[network].name] = nil
        freeNetworks.append(network)
    }
}

extension ConnectionTable {
    /// A connection, in one of the two chains of its network.
    private struct Entry {
        var connection: Connection?
        var generation = 0
        var network = 0
        var isIdle = true
        var since = 0
        var previous: Int?
        var next: Int?
    }

    /// The places of the connections of a network, in the order in which they became idle or busy.
    private struct Chain {
        var first: Int?
        var last: Int?
    }

    private struct Network {
        let name: Name
        var count = 0
        var idle = Chain()
        var busy = Chain()

        subscript(isIdle: Bool) -> Chain {
            get { isIdle ? idle : busy }
            set { if isIdle { idle = newValue } else { busy = newValue } }
        }
    }

    /// Of one network some addresses may be trusted and others not.
    private struct Name: Hashable {
        let network: CallerNetwork?
        let isTrusted: Bool
    }

    private mutating func append(_ place: Int, isIdle: Bool) {
        let network = entries[place].network
        let last = networks[network][isIdle].last
        time += 1
        entries[place].isIdle = isIdle
        entries[place].since = time
        entries[place].previous = last
        entries[place].next = nil
        if let last { entries[last].next = place } else { networks[network][isIdle].first = place }
        networks[network][isIdle].last = place
    }

    private mutating func unlink(_ place: Int) {
        let (network, isIdle) = (entries[place].network, entries[place].isIdle)
        let (previous, next) = (entries[place].previous, entries[place].next)
        if let previous { entries[previous].next = next } else { networks[network][isIdle].first = next }
        if let next { entries[next].previous = previous } else { networks[network][isIdle].last = previous }
    }
}
