import HTTPTypes
import NIOCore
import RegistryCore
import Synchronization

extension HTTPFields {
    /// The same as the subscript, which allocates memory even for a single field.
    func value(_ name: HTTPField.Name) -> String? {
        guard let index = firstIndex(where: { $0.name == name }) else { return nil }
        return self[(index + 1)...].contains { $0.name == name } ? self[name] : self[index].value
    }
}

/// Such as `application/json; charset=utf-8`.
struct MediaType: Sendable, Hashable {
    /// Lower-case.
    let name: String
    let charset: String?

    static let json = "application/json"
    static let problem = "application/problem+json"
    static let lines = "application/x-ndjson"

    init(_ text: String) {
        let fields = AcceptField.split(Substring(text), at: ";")
        name = (fields.first ?? "").lowercased()
        let pairs = fields.dropFirst().map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        let pair = pairs.first { Self.trimmed($0[0]).lowercased() == "charset" }
        charset = pair.map { $0.count > 1 ? Self.unquoted(Self.trimmed($0[1])) : "" }
    }

    var isJSON: Bool { name == Self.json && isUTF8 }

    /// NDJSON, which has no registered name and is always UTF-8.
    var isLines: Bool { [Self.lines, "application/ndjson", "application/jsonl"].contains(name) && isUTF8 }

    /// Many libraries send `utf8`, which is not a registered name.
    private var isUTF8: Bool { ["utf-8", "utf8"].contains((charset ?? "utf-8").lowercased()) }

    static func trimmed(_ text: Substring) -> Substring {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var bytes = text.utf8.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return Substring(bytes)
    }

    private static func unquoted(_ text: Substring) -> String {
        String(text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? text.dropFirst().dropLast() : text)
    }
}

/// Chooses between `application/json` and `application/x-ndjson` by `Accept` (RFC 9110, section 12.5.1). The most
/// specific matching range determines a type's quality.
///
/// JSON is the default.
enum AcceptField {
    /// In bytes. Longer fields are ignored because of their cost.
    static let longest = 1024

    static func prefersLines(_ fields: HTTPFields) -> Bool {
        // Most fields are one of these.
        let values = fields[values: .accept]
        guard values.contains(where: { $0 != "*/*" && $0 != MediaType.json }),
            values.reduce(0, { $0 + $1.utf8.count }) <= longest
        else { return false }
        let ranges = values.flatMap { split(Substring($0), at: ",") }.map { range in
            let parts = split(range, at: ";")
            return (name: parts[0].lowercased(), quality: quality(parts.dropFirst()))
        }
        func preference(for type: String) -> Double {
            let matching = [type, "application/*", "*/*"].lazy.map { name in ranges.filter { $0.name == name } }
            return matching.first { !$0.isEmpty }?.map(\.quality).max() ?? 0
        }
        return preference(for: MediaType.lines) > preference(for: MediaType.json)
    }

    /// The `q` parameter. 1 if absent or invalid.
    private static func quality(_ parameters: some Sequence<Substring>) -> Double {
        guard let parameter = parameters.first(where: { $0.utf8.count >= 3 && $0.prefix(2).lowercased() == "q=" }),
            let text = parameter.dropFirst(2).wholeMatch(of: /[01](\.[0-9]{0,3})?/)?.0
        else { return 1 }
        let quality = Double(text.hasSuffix(".") ? text.dropLast() : text) ?? 1
        return quality <= 1 ? quality : 1
    }

    /// The parts between unquoted marks, without blanks around them.
    static func split(_ text: Substring, at mark: Unicode.Scalar) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        // Splits bytes, because comparing characters is far slower.
        return text.utf8.split(omittingEmptySubsequences: false) { byte in
            defer { isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\") }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            return byte == UInt8(ascii: mark) && !isQuoted
        }.map { MediaType.trimmed(Substring($0)) }
    }
}

/// Identifies a request in its response and in the log.
enum RequestID {
    static let field = HTTPField.Name("Request-Id")!

    /// The caller's id if it has 1 to 128 visible ASCII characters, otherwise 32 random hex digits.
    static func choose(_ given: String?) -> String {
        guard let given, (1...128).contains(given.utf8.count), given.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return random() }
        return given
    }

    /// Not secret. A random number of this process and its next number, which saves a system call per request.
    private static func random() -> String {
        // Odd, so no number repeats, and large, so neighbours differ visibly.
        let next = last.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        return withUnsafeBytes(of: (process.bigEndian, next.bigEndian)) { Hexadecimal.encode($0) }
    }

    private static let process = UInt64.random(in: .min ... .max)
    private static let last = Atomic(UInt64.random(in: .min ... .max))
}

/// The caller's `traceparent` (W3C Trace Context, level 1).
struct TraceParent: Sendable, Hashable {
    static let field = HTTPField.Name("traceparent")!

    /// 32 lower-case hex digits, common to all services of the trace.
    let traceID: String
    /// 16 lower-case hex digits of the caller's span.
    let parentID: String

    /// Nil if invalid, which is not an error of the request.
    init?(_ text: String?) {
        // Later versions add data after another hyphen.
        let pattern = /([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?/
        guard let parts = text?.wholeMatch(of: pattern), parts.1 != "ff", parts.1 != "00" || parts.4 == nil,
            // All zeros are invalid.
            parts.2.contains(where: { $0 != "0" }), parts.3.contains(where: { $0 != "0" })
        else { return nil }
        (traceID, parentID) = (String(parts.2), String(parts.3))
    }
}

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

    private static let field = HTTPField.Name("X-Forwarded-For")!

    /// The peer. For a trusted proxy, the rightmost untrusted address of `X-Forwarded-For`, because a client can forge
    /// the entries to its left.
    func findAddress(_ peer: IPAddress?, _ fields: HTTPFields) -> IPAddress? {
        guard let peer, isTrusted(peer) else { return peer }
        let hops = fields[values: Self.field].joined(separator: ",").split(separator: ",")
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
        let host = text.hasPrefix("[") ? text.dropFirst().prefix { $0 != "]" } : text.prefix { $0 != ":" }
        return IPAddress(String(text)) ?? IPAddress(String(host))
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
