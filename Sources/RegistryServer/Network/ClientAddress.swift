import HTTPTypes
import NIOCore

struct ClientAddress: Sendable {
    /// The proxies whose `X-Forwarded-For` is trusted.
    let trustedProxies: [AddressRange]

    /// The peer, or for a trusted proxy the rightmost untrusted address of `X-Forwarded-For`: the client itself may
    /// have written the entries to its left.
    func findAddress(_ peer: IPAddress?, _ fields: HTTPFields) -> IPAddress? {
        guard let peer, isTrusted(peer) else { return peer }
        let hops = fields[values: .forwardedFor].joined(separator: ",").split(separator: ",")
        var last = peer
        for hop in hops.reversed() {
            // An unreadable entry proves nothing about those to its left.
            guard let address = Self.address(hop) else { return last }
            guard isTrusted(address) else { return address }
            last = address
        }
        return last
    }

    func isTrusted(_ address: IPAddress) -> Bool { trustedProxies.contains { $0.contains(address) } }

    /// Some proxies write brackets or a port.
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
        // A link-local address carries its interface: fe80::1%eth0.
        self.init(String(text.prefix { $0 != "%" }))
    }
}

extension HTTPField.Name {
    fileprivate static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
