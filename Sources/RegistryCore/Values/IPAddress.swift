import Foundation

/// An IPv4 or IPv6 address. `::ffff:10.0.0.1` is the IPv4 address 10.0.0.1.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes in network order.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    }

    /// Reads `10.0.0.1` or `2001:db8::1`, without zones, brackets, octal or short forms.
    package init?(_ text: String) {
        var (four, six) = ([UInt8](repeating: 0, count: 4), [UInt8](repeating: 0, count: 16))
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(bytes: four)
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(bytes: six)
        } else {
            return nil
        }
    }

    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = bytes.withUnsafeBytes { raw in
            inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, raw.baseAddress, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    package var isLoopback: Bool { Self.loopback.contains { $0.contains(self) } }

    /// False for loopback, private, link-local, shared, reserved, documentation and multicast addresses (the
    /// special-purpose registries of RFC 6890), and their IPv6 forms.
    package var isPublic: Bool {
        if let embedded { return embedded.isPublic }
        return !Self.special.contains { $0.contains(self) }
    }

    /// The IPv4 address in NAT64 (RFC 6052), 6to4 (RFC 3056) and the old compatible form.
    private var embedded: IPAddress? {
        guard bytes.count == 16 else { return nil }
        if bytes.starts(with: [0x20, 0x02]) { return IPAddress(bytes: Array(bytes[2..<6])) }
        let isTranslated = bytes.starts(with: [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8))
        let isCompatible = bytes.prefix(12).allSatisfy { $0 == 0 }
        return isTranslated || isCompatible ? IPAddress(bytes: Array(bytes.suffix(4))) : nil
    }

    package static let loopback = ranges(["127.0.0.0/8", "::1/128"])

    private static let special = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
        "240.0.0.0/4", "100::/64", "2001::/23", "2001:db8::/32", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
        "64:ff9b:1::/48",
    ])

    private static func ranges(_ texts: [String]) -> [AddressRange] { texts.compactMap { AddressRange($0) } }
}

/// Addresses with a common prefix, such as `10.0.0.0/8`.
package struct AddressRange: Sendable, Hashable {
    private let address: IPAddress
    private let bitCount: Int

    package init?(_ text: String) {
        guard let parts = text.wholeMatch(of: /([^\/]+)(?:\/([0-9]+))?/), let address = IPAddress(String(parts.1))
        else { return nil }
        let all = address.bytes.count * 8
        let count = parts.2.map { Int($0) ?? .max } ?? all
        guard count <= all else { return nil }
        (self.address, bitCount) = (address, count)
    }

    package func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let (whole, rest) = bitCount.quotientAndRemainder(dividingBy: 8)
        guard other.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
        return rest == 0 || (other.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0
    }
}
