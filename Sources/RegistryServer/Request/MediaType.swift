import HTTPTypes
import RegistryCore

/// Such as `application/json; charset=utf-8`.
struct MediaType: Sendable, Hashable {
    /// Lower-case.
    let name: String
    let charset: String?

    static let json = "application/json"
    static let problem = "application/problem+json"
    static let lines = "application/x-ndjson"

    init(_ text: String) {
        // Splits bytes, because comparing characters is far slower and every body has a type.
        let fields = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map {
            Self.trimmed(Substring($0))
        }
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
    private static func split(_ text: Substring, at mark: Unicode.Scalar) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        // Splits bytes, because comparing characters is far slower.
        return text.utf8.split(omittingEmptySubsequences: false) { byte in
            defer { isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\") }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            return byte == UInt8(ascii: mark) && !isQuoted
        }.map { MediaType.trimmed(Substring($0)) }
    }
}
