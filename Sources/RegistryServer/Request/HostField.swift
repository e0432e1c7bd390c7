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
