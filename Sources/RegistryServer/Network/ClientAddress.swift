import HTTPTypes
import NIOCore
import RegistryCore

struct ClientAddress: Sendable {
    let trustedProxies: [AddressRange]

    /// The peer. For a trusted proxy, the rightmost untrusted address of `X-Forwarded-For`, because a client can forge
    /// the entries to its left.
    func findAddress(_ peer: IPAddress?, _ fields: HTTPFields) -> IPAddress? {
        guard let peer, isTrusted(peer) else { return peer }
        let hops = fields[values: .forwardedFor].joined(separator: ",").split(separator: ",")
        var last = peer
        for hop in hops.reversed() {
            // After an unreadable entry, the entries to its left are not trusted.
            guard let address = Self.address(hop) else { return last }
            guard isTrusted(address) else { return address }
            last = address
        }
        return last
    }

    func isTrusted(_ address: IPAddress) -> Bool { trustedProxies.contains { $0.contains(address) } }

    /// Some proxies add brackets or a port.
    private static func address(_ hop: Substring) -> IPAddress? {
        let text = hop.drop { $0 == " " }.prefix { $0 != " " }
        if let address = IPAddress(String(text)) { return address }
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            return IPAddress(String(text[..<end].dropFirst()))
        }
        return text.split(separator: ":").count == 2
            ? text.split(separator: ":").first.flatMap { IPAddress(String($0)) } : nil
    }
}

extension IPAddress {
    /// Nil for Unix sockets.
    init?(_ address: SocketAddress?) {
        guard let text = address?.ipAddress else { return nil }
        // Link-local addresses contain their interface: fe80::1%eth0.
        self.init(String(text.prefix { $0 != "%" }))
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}

/// The unit of limits by network: an IPv4 address, or an IPv6 /64, because one caller usually has a complete /64.
struct CallerNetwork: Sendable, Hashable, CustomStringConvertible {
    private let isWide: Bool
    /// In network byte order.
    private let bits: UInt64

    init(of address: IPAddress) {
        isWide = address.bytes.count > 4
        bits = address.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Nil without an address, and for loopback, which is this machine or a proxy outside of `trustedProxies`.
    init?(_ address: IPAddress?) {
        guard let address, !address.isLoopback else { return nil }
        self.init(of: address)
    }

    var description: String {
        let length = isWide ? 8 : 4
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: bits >> (8 * (length - 1 - $0))) }
        let first = IPAddress(bytes: isWide ? bytes + [UInt8](repeating: 0, count: 8) : bytes)
        return isWide ? "\(first)/64" : "\(first)"
    }
}
