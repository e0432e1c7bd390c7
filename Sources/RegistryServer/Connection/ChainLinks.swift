/// The ends of a chain of places.
struct Chain: Sendable, Hashable {
    fileprivate(set) var first: Int?
    fileprivate(set) var last: Int?
}

/// The links by which places hang together in chains, each in one at most: a place joins at the end, and leaves from anywhere,
/// in a time that does not depend on how many there are.
struct ChainLinks: Sendable {
    private struct Link {
        var previous: Int?
        var next: Int?
    }

    private var links: [Link] = []

    /// Adds a place, which is in no chain, to the end of one.
    mutating func append(_ place: Int, to chain: inout Chain) {
        while links.count <= place { links.append(Link()) }
        links[place] = Link(previous: chain.last)
        if let last = chain.last { links[last].next = place } else { chain.first = place }
        chain.last = place
    }

    /// Takes a place out of the chain that it is in.
    mutating func remove(_ place: Int, from chain: inout Chain) {
        let link = links[place]
        if let previous = link.previous { links[previous].next = link.next } else { chain.first = link.next }
        if let next = link.next { links[next].previous = link.previous } else { chain.last = link.previous }
        links[place] = Link()
    }
}
