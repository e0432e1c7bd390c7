import HTTPTypes

/// Chooses between `application/json` and `application/x-ndjson` by `Accept` (RFC 9110, section 12.5.1). The most
/// specific matching range determines a type's quality.
///
/// JSON is the default.
struct AcceptField {
    /// In bytes. Longer fields are ignored because of their cost.
    static let longest = 1024

    private var json = Weight()
    private var lines = Weight()

    /// `quality` is in thousandths. `closeness` is the specificity of the range.
    private struct Weight {
        var quality = 0
        var closeness = 0
    }

    static func prefersLines(_ fields: HTTPFields) -> Bool {
        let values = fields[values: .accept]
        guard !values.isEmpty, values.reduce(0, { $0 + $1.utf8.count }) <= longest else { return false }
        var field = AcceptField()
        for var value in values { value.withUTF8 { field.read($0) } }
        return field.lines.quality > field.json.quality
    }

    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        var rest = bytes[...]
        while !rest.isEmpty {
            var range = Self.next(&rest, before: UInt8(ascii: ","))
            let name = Self.trimmed(Self.next(&range, before: UInt8(ascii: ";")))
            let closeness = (
                json: Self.closeness(of: name, to: Self.jsonType), lines: Self.closeness(of: name, to: Self.linesType)
            )
            guard closeness.json > 0 || closeness.lines > 0 else { continue }
            let quality = Self.quality(range)
            Self.weigh(&json, closeness.json, quality)
            Self.weigh(&lines, closeness.lines, quality)
        }
    }

    private static func weigh(_ weight: inout Weight, _ closeness: Int, _ quality: Int) {
        guard closeness > 0, closeness >= weight.closeness else { return }
        weight.quality = closeness > weight.closeness ? quality : max(quality, weight.quality)
        weight.closeness = closeness
    }
}

extension AcceptField {
    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static let application: StaticString = "application/"
    private static let jsonType: StaticString = "json"
    private static let linesType: StaticString = "x-ndjson"

    /// 3 for the type's name, 2 for `application/*`, 1 for `*/*`, 0 for others.
    private static func closeness(of name: Bytes, to type: StaticString) -> Int {
        if name.count == 3, name.elementsEqual("*/*".utf8) { return 1 }
        let length = application.utf8CodeUnitCount
        guard name.count > length, isEqual(name.prefix(length), application) else { return 0 }
        let rest = name.dropFirst(length)
        return isEqual(rest, type) ? 3 : rest.elementsEqual("*".utf8) ? 2 : 0
    }

    /// Ignores case. `other` must be lower-case.
    private static func isEqual(_ text: Bytes, _ other: StaticString) -> Bool {
        other.withUTF8Buffer { other in
            text.count == other.count
                && zip(text, other).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 && (0x61...0x7A).contains($1)) }
        }
    }

    /// The `q` parameter in thousandths. 1000 if absent or invalid.
    private static func quality(_ parameters: Bytes) -> Int {
        var rest = parameters
        while !rest.isEmpty {
            let parameter = trimmed(next(&rest, before: UInt8(ascii: ";")))
            guard parameter.count >= 3, isEqual(parameter.prefix(2), "q=") else { continue }
            return thousandths(parameter.dropFirst(2)) ?? 1000
        }
        return 1000
    }

    /// `0` or `1`, optionally with a point and up to three digits.
    private static func thousandths(_ text: Bytes) -> Int? {
        let digits = text.dropFirst(2)
        guard let whole = text.first, whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1"), text.count <= 5,
            text.dropFirst().first ?? UInt8(ascii: ".") == UInt8(ascii: "."),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        var value = whole == UInt8(ascii: "1") ? 1 : 0
        for place in 0..<3 {
            let digit = digits.dropFirst(place).first.map { Int($0 - UInt8(ascii: "0")) } ?? 0
            value = value * 10 + digit
        }
        return value <= 1000 ? value : nil
    }

    /// Removes and returns the text before the next unquoted `mark`, and drops the mark.
    private static func next(_ rest: inout Bytes, before mark: UInt8) -> Bytes {
        var (isQuoted, isEscaped) = (false, false)
        for index in rest.indices {
            let byte = rest[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == mark, !isQuoted {
                defer { rest = rest[(index + 1)...] }
                return rest[..<index]
            }
        }
        defer { rest = rest[rest.endIndex...] }
        return rest
    }

    private static func trimmed(_ text: Bytes) -> Bytes {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}
