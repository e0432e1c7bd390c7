import RegistryCore
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
        table.admit(connection, from: try Self.network(network), isTrusted: isTrusted)
    }

    @Test func `A network has a limit of 1000 by default`() throws {
        let limits = ServerConfiguration.Limits()
        var table = Table(most: limits.connections, mostOfNetwork: limits.addressConnections)
        for number in 0..<1000 { #expect(try Self.admit(number, from: "192.0.2.1", to: &table)?.closing == nil) }
        #expect(try Self.admit(1000, from: "192.0.2.1", to: &table) == nil)
        #expect(try Self.admit(1001, from: "192.0.2.2", to: &table) != nil)
    }

    @Test func `Further requests of a connection count like connections, until they or it end`() throws {
        var table = Table(most: 12, mostOfNetwork: 3)
        let slot = try #require(try Self.admit(0, from: "192.0.2.1", to: &table)).slot
        #expect([1, 1, 1, -1].map { table.addRequests($0, to: slot) } == [true, true, false, true])
        #expect(try Self.admit(1, from: "192.0.2.1", to: &table) == nil)
        table.remove(slot)
        for number in 0..<3 { #expect(try Self.admit(number, from: "192.0.2.1", to: &table) != nil) }
        #expect(try Self.admit(3, from: "192.0.2.1", to: &table) == nil)
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

    init(most: Int, mostOfNetwork: Int) { (self.most, self.mostOfNetwork) = (most, mostOfNetwork) }

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
            let candidates = all.filter { !$0.isTrusted || $0.isIdle }
            closing = candidates.max { rank($0).lexicographicallyPrecedes(rank($1)) }?.name
            guard let closing else { return (false, nil) }
            remove(closing)
        }
        time += 1
        all.append(Connection(name: name, network: network, isTrusted: isTrusted, since: time))
        return (true, closing)
    }

    private func rank(_ connection: Connection) -> [Int] {
        [all.count { $0.network == connection.network }, connection.isIdle ? 1 : 0, -connection.since]
    }
}
