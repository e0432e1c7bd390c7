import TestSupport
import Testing

@testable import RegistryServer

@Suite struct ConnectionTableTests {
    private typealias Table = ConnectionTable<Int>

    private static func network(_ text: String) throws -> CallerNetwork {
        CallerNetwork(of: try #require(IPAddress(text)))
    }

    private static func admit(
        _ connection: Int,
        from network: String,
        isTrusted: Bool = false,
        to table: inout Table
    ) throws -> (slot: Table.Slot, closing: Int?)? {
        switch table.admit(connection, from: try Self.network(network), isTrusted: isTrusted) {
        case .admitted(let slot, let closing): (slot, closing)
        case .refused: nil
        }
    }

    @Test func `A network has a limit of 1000 by default`() throws {
        let limits = ServerConfiguration.Limits()
        var table = Table(most: limits.connections, mostOfNetwork: limits.addressConnections)
        let slots = try (0..<1000).map { try #require(try Self.admit($0, from: "192.0.2.1", to: &table)).slot }
        #expect(try Self.admit(1000, from: "192.0.2.1", to: &table) == nil)
        #expect(try Self.admit(1001, from: "192.0.2.2", to: &table) != nil)
        table.remove(slots[500])
        table.remove(slots[500])
        #expect(table.count == 1000)
        #expect(try Self.admit(1002, from: "192.0.2.1", to: &table)?.closing == nil)
        #expect(try Self.admit(1003, from: "192.0.2.1", to: &table) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("::ffff:192.0.2.1", "192.0.2.1", true),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true), ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
    ])
    func `An IPv6 network has a prefix of 64 bits`(_ one: String, _ other: String, _ isSame: Bool) throws {
        #expect(try (Self.network(one) == Self.network(other)) == isSame)
    }

    @Test(arguments: [("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2::1", "2001:db8:1:2::/64")])
    func `Networks are written as ranges`(_ address: String, _ text: String) throws {
        #expect(try Self.network(address).description == text)
    }

    /// The second of the three networks has the most connections.
    @Test func `The caller with the most connections loses its longest idle one`() throws {
        var table = Table(most: 6, mostOfNetwork: 5)
        _ = try Self.admit(0, from: "192.0.2.1", to: &table)
        let slots = try (1...4).map { try #require(try Self.admit($0, from: "192.0.2.2", to: &table)).slot }
        _ = try Self.admit(5, from: "192.0.2.3", to: &table)
        // 2 became idle after 3 and 4; 1 is busy.
        table.mark(slots[0], isIdle: false)
        table.mark(slots[1], isIdle: false)
        table.mark(slots[1], isIdle: true)
        #expect(try Self.admit(6, from: "192.0.2.4", to: &table)?.closing == 3)
        #expect(try Self.admit(7, from: "192.0.2.5", to: &table)?.closing == 4)
        // All networks have few now; 0 is idle the longest.
        #expect(try Self.admit(8, from: "192.0.2.6", to: &table)?.closing == 2)
        #expect(try Self.admit(9, from: "192.0.2.7", to: &table)?.closing == 0)
        #expect(table.count == 6)
        // Marks of closed connections have no effect.
        table.mark(slots[2], isIdle: false)
        table.remove(slots[2])
        #expect(table.count == 6)
    }

    @Test func `If no connection is idle, the oldest is closed`() throws {
        var table = Table(most: 4, mostOfNetwork: 4)
        let slots = try (0..<4).map { try #require(try Self.admit($0, from: "192.0.2.\($0 / 3)", to: &table)).slot }
        for slot in [slots[1], slots[0], slots[2], slots[3]] { table.mark(slot, isIdle: false) }
        #expect(try Self.admit(4, from: "192.0.2.9", to: &table)?.closing == 1)
        #expect(try Self.admit(5, from: "192.0.2.8", to: &table)?.closing == 0)
        // Each network has one connection now, and only the new ones are idle.
        #expect(try Self.admit(6, from: "192.0.2.7", to: &table)?.closing == 4)
    }

    /// A proxy carries many callers, and a network with many connections may be one.
    @Test func `Trusted callers have any number of connections and lose only idle ones`() throws {
        var table = Table(most: 4, mostOfNetwork: 1)
        let slots = try (0..<4).map {
            try #require(try Self.admit($0, from: "10.0.0.1", isTrusted: true, to: &table)).slot
        }
        for slot in slots.dropFirst() { table.mark(slot, isIdle: false) }
        #expect(try Self.admit(4, from: "192.0.2.1", to: &table)?.closing == 0)
        // The proxy has no idle connection, so a stranger's is closed, although they have only one.
        #expect(try Self.admit(5, from: "192.0.2.2", to: &table)?.closing == 4)
        #expect(try Self.admit(6, from: "10.0.0.1", isTrusted: true, to: &table)?.closing == 5)
        table.mark(slots[1], isIdle: true)
        #expect(try Self.admit(7, from: "10.0.0.1", isTrusted: true, to: &table)?.closing == 6)
        var busy = Table(most: 1, mostOfNetwork: 1)
        let slot = try #require(try Self.admit(0, from: "10.0.0.1", isTrusted: true, to: &busy)).slot
        busy.mark(slot, isIdle: false)
        #expect(try Self.admit(1, from: "192.0.2.1", to: &busy) == nil && busy.count == 1)
    }

    @Test(arguments: 0..<20) func `After any series of connections, the table equals plain lists`(_ seed: UInt64) throws
    {
        var random = SeededGenerator(seed: seed)
        var table = Table(most: 12, mostOfNetwork: 5)
        var model = PlainConnections(most: 12, mostOfNetwork: 5)
        // Includes closed connections.
        var slots: [(name: Int, slot: Table.Slot)] = []
        for connection in 0..<2000 {
            let network = Int.random(in: 0..<6, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                guard let leaving = slots.randomElement(using: &random) else { continue }
                table.remove(leaving.slot)
                model.remove(leaving.name)
            case 1:
                guard let known = slots.randomElement(using: &random) else { continue }
                let isIdle = Bool.random(using: &random)
                table.mark(known.slot, isIdle: isIdle)
                model.mark(known.name, isIdle: isIdle)
            default:
                let isTrusted = network == 0
                let admitted = try Self.admit(connection, from: "10.0.0.\(network)", isTrusted: isTrusted, to: &table)
                let expected = model.admit(connection, from: network, isTrusted: isTrusted)
                #expect((admitted != nil) == expected.isAdmitted)
                #expect(admitted?.closing == expected.closing)
                if let admitted { slots = slots.suffix(20) + [(connection, admitted.slot)] }
            }
            #expect(table.count == model.all.count)
        }
    }
}

/// Implements the rules with a linear search.
private struct PlainConnections {
    struct Connection {
        let name: Int
        let network: Int
        let isTrusted: Bool
        var isIdle = true
        var since: Int
    }

    let most: Int
    let mostOfNetwork: Int
    private(set) var all: [Connection] = []
    private var time = 0

    init(most: Int, mostOfNetwork: Int) {
        self.most = most
        self.mostOfNetwork = mostOfNetwork
    }

    mutating func mark(_ name: Int, isIdle: Bool) {
        guard let index = all.firstIndex(where: { $0.name == name }), all[index].isIdle != isIdle else { return }
        time += 1
        all[index].isIdle = isIdle
        all[index].since = time
    }

    mutating func remove(_ name: Int) {
        guard let index = all.firstIndex(where: { $0.name == name }) else { return }
        time += 1
        all.remove(at: index)
    }

    mutating func admit(_ name: Int, from network: Int, isTrusted: Bool) -> (isAdmitted: Bool, closing: Int?) {
        if !isTrusted, all.count(where: { $0.network == network }) >= mostOfNetwork { return (false, nil) }
        var closing: Int?
        if all.count >= most {
            closing = evictionCandidate()
            guard let closing else { return (false, nil) }
            remove(closing)
        }
        time += 1
        all.append(Connection(name: name, network: network, isTrusted: isTrusted, since: time))
        return (true, closing)
    }

    private func evictionCandidate() -> Int? {
        let candidates = all.filter { !$0.isTrusted || $0.isIdle }
        return candidates.max { rank($0).lexicographicallyPrecedes(rank($1)) }?.name
    }

    private func rank(_ connection: Connection) -> [Int] {
        [all.count { $0.network == connection.network }, connection.isIdle ? 1 : 0, -connection.since]
    }
}
