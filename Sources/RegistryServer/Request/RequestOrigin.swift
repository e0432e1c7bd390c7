import HTTPTypes
import NIOCore
import RegistryCore

/// `Host`: a name or an address, and an optional port (RFC 3986, section 3.2).
enum HostField {
    static func isValid(_ host: String) -> Bool {
        var host = host
        return host.withUTF8 { bytes in
            var rest = bytes[...]
            while let last = rest.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { rest.removeLast() }
            guard let end = rest.first == UInt8(ascii: "[") ? endOfLiteral(rest) : endOfName(rest) else { return false }
            return isPort(rest[end...])
        }
    }

    private static func endOfLiteral(_ host: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard let end = host.firstIndex(of: UInt8(ascii: "]")), end > host.startIndex + 1 else { return nil }
        let address = host[host.startIndex + 1..<end]
        return address.allSatisfy { Hexadecimal.digit($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
            ? end + 1 : nil
    }

    private static func endOfName(_ host: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        // Does not check the escapes after `%`.
        let end = host.firstIndex { !ASCII.isWord($0, or: "-._~%!$&'()*+,;=") } ?? host.endIndex
        return end > host.startIndex ? end : nil
    }

    private static func isPort(_ rest: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let colon = rest.first else { return true }
        let digits = rest.dropFirst()
        return colon == UInt8(ascii: ":") && digits.count <= 5 && digits.allSatisfy(ASCII.isDigit)
    }
}

/// Whether a `Host` names this machine.
///
/// Without authentication, a web page could call the service under its own name if that name resolves to 127.0.0.1 (DNS
/// rebinding). Such a request has the page's name as `Host`.
enum LoopbackHost {
    /// `localhost`, an address of 127.0.0.0/8, or `[::1]`, each with an optional port, which can be empty (RFC 3986).
    static func matches(_ host: String) -> Bool {
        guard HostField.isValid(host) else { return false }
        let host = host.lowercased()
        let name = host.hasPrefix("[") ? host.prefix(5) : host.prefix { $0 != ":" }
        guard Int(host.dropFirst(name.count + 1)) ?? 0 <= 65_535 else { return false }
        return name == "localhost" || name == "[::1]" || name.hasPrefix("127.") && IPAddress(String(name)) != nil
    }
}

/// The origin of a change, from the browser's header fields.
enum RequestOrigin {
    private static let site = HTTPField.Name("Sec-Fetch-Site")!

    /// Rejects requests from other sites' pages. Requests without these fields are trusted.
    ///
    /// - Parameter believesNull: Whether a hidden origin is trusted. Browsers send "null" for pages that hide their
    ///   origin, as ours do. Their forms have a token, but calls have none.
    static func check(_ head: HTTPRequest, believesNull: Bool, _ refusal: String) throws(Problem) {
        guard isOwn(head, believesNull) else { throw Problem(.forbidden, refusal) }
    }

    private static func isOwn(_ head: HTTPRequest, _ believesNull: Bool) -> Bool {
        if let site = head.headerFields[site] { return site == "same-origin" }
        guard let origin = head.headerFields[.origin], origin != "null" || !believesNull else { return true }
        let place = origin.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init)
        guard let place, let authority = head.authority else { return false }
        return place.lowercased() == authority.lowercased()
    }
}

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
