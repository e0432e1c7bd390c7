struct Chain: Sendable, Hashable {
    fileprivate(set) var first: Int?
    fileprivate(set) var last: Int?
}

/// Links places in chains, each place in one at most: it joins at the end, and leaves from anywhere, in constant time.
struct ChainLinks: Sendable {
    private struct Link {
        var previous: Int?
        var next: Int?
    }

    private var links: [Link] = []

    /// The place must be in no chain.
    mutating func append(_ place: Int, to chain: inout Chain) {
        while links.count <= place { links.append(Link()) }
        links[place] = Link(previous: chain.last)
        if let last = chain.last { links[last].next = place } else { chain.first = place }
        chain.last = place
    }

    mutating func remove(_ place: Int, from chain: inout Chain) {
        let link = links[place]
        if let previous = link.previous { links[previous].next = link.next } else { chain.first = link.next }
        if let next = link.next { links[next].previous = link.previous } else { chain.last = link.previous }
        links[place] = Link()
    }
}
