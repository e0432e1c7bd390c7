/// Whether a `Host` names this machine.
///
/// Without authentication, a web page could call the service under its own name if that name resolves to 127.0.0.1 (DNS
/// rebinding). Such a request has the page's name as `Host`.
enum LoopbackHost {
    /// `localhost`, an address of 127.0.0.0/8, or `[::1]`, each with an optional port.
    static func matches(_ host: String) -> Bool {
        guard let name = withoutPort(host.lowercased()) else { return false }
        return name == "localhost" || name == "[::1]" || isLoopbackAddress(name)
    }

    private static func withoutPort(_ host: String) -> Substring? {
        let end = host.hasPrefix("[") ? host.firstIndex(of: "]").map(host.index(after:)) : host.firstIndex(of: ":")
        let name = host[..<(end ?? host.endIndex)]
        let rest = host[name.endIndex...]
        guard !rest.isEmpty else { return name }
        // The port can be empty (RFC 3986).
        guard rest != ":" else { return name }
        guard rest.first == ":", let port = decimal(rest.dropFirst()), port <= 65_535 else { return nil }
        return name
    }

    private static func isLoopbackAddress(_ name: Substring) -> Bool {
        let numbers = name.split(separator: ".", omittingEmptySubsequences: false).map(decimal)
        return numbers.count == 4 && numbers[0] == 127 && numbers.allSatisfy { $0.map { $0 <= 255 } ?? false }
    }

    private static func decimal(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && text.utf8.count <= 5 ? Int(text) : nil
    }
}
