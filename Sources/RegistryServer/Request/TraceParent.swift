import HTTPTypes

/// The caller's `traceparent` (W3C Trace Context, level 1).
struct TraceParent: Sendable, Hashable {
    static let field = HTTPField.Name("traceparent")!

    /// 32 lower-case hex digits, common to all services of the trace.
    let traceID: String
    /// 16 lower-case hex digits of the caller's span.
    let parentID: String

    /// Nil if invalid, which is not an error of the request.
    init?(_ text: String?) {
        guard let text, text.utf8.count >= 55 else { return nil }
        let parts = text.utf8.prefix(55).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2], parts.joined().allSatisfy(Self.isDigit),
            case let version = String(decoding: parts[0], as: UTF8.self), version != "ff", Self.isName(parts[1]),
            Self.isName(parts[2])
        else { return nil }
        // Later versions add data after another hyphen.
        let rest = text.utf8.dropFirst(55)
        guard rest.isEmpty || (version != "00" && rest.first == UInt8(ascii: "-")) else { return nil }
        traceID = String(decoding: parts[1], as: UTF8.self)
        parentID = String(decoding: parts[2], as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    /// All zeros are invalid.
    private static func isName(_ digits: Substring.UTF8View) -> Bool {
        digits.contains { $0 != UInt8(ascii: "0") }
    }
}
