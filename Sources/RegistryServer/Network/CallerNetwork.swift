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
