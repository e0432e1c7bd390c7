extension JSONParser {
    mutating func string() throws(JSONSyntaxError) -> String {
        let start = position + 1
        let (end, hasEscapes) = try closingQuote(from: start)
        let text = try validated(start..<end)
        position = end + 1
        return hasEscapes ? try unescaped(start..<end) : text
    }

    private func closingQuote(from start: Int) throws(JSONSyntaxError) -> (end: Int, hasEscapes: Bool) {
        var end = start
        var hasEscapes = false
        while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "\""): return (end, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                end += 2
            case 0..<0x20: throw fault("A control character in a string must be escaped.", at: end)
            default: end += 1
            }
        }
        throw fault("The text ends inside a string.", at: end)
    }

    private func validated(_ range: Range<Int>) throws(JSONSyntaxError) -> String {
        do throws(UTF8.ValidationError) {
            return String(copying: try UTF8Span(validating: bytes.extracting(range).span))
        } catch { throw fault("The bytes are not UTF-8.", at: range.lowerBound + error.byteOffsets.lowerBound) }
    }

    /// The range is valid UTF-8 and escapes are ASCII, so the text between escapes is copied unchanged.
    private func unescaped(_ range: Range<Int>) throws(JSONSyntaxError) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            let run = bytes[index..<range.upperBound].prefix { $0 != UInt8(ascii: "\\") }
            text.append(contentsOf: run)
            index = run.endIndex
            if index < range.upperBound { index = try unescape(at: index, before: range.upperBound, into: &text) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the escaped character at `index` and returns the index after the escape.
    private func unescape(at index: Int, before end: Int, into text: inout [UInt8]) throws(JSONSyntaxError) -> Int {
        // The closing quote is not escaped, so a byte follows each backslash.
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(bytes[index + 1])
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let (scalar, length) = try escapedScalar(at: index, before: end)
            text.append(contentsOf: String(Character(scalar)).utf8)
            return index + length
        default: throw fault("The escape is not valid.", at: index)
        }
        return index + 2
    }

    /// Reads `\uXXXX` or a surrogate pair. `length` is in bytes of the text.
    private func escapedScalar(
        at index: Int,
        before end: Int
    ) throws(JSONSyntaxError) -> (scalar: Unicode.Scalar, length: Int) {
        let unit = try codeUnit(at: index, before: end)
        if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(UInt16(unit)), index + 7 < end, bytes[index + 6] == UInt8(ascii: "\\"),
            bytes[index + 7] == UInt8(ascii: "u")
        else { throw fault("An escaped surrogate must be part of a pair.", at: index) }
        let trail = try codeUnit(at: index + 6, before: end)
        guard UTF16.isTrailSurrogate(UInt16(trail)),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (trail - 0xDC00))
        else { throw fault("An escaped surrogate must be part of a pair.", at: index) }
        return (scalar, 12)
    }

    private func codeUnit(at index: Int, before end: Int) throws(JSONSyntaxError) -> UInt32 {
        guard index + 6 <= end else { throw fault("An escape needs four hex digits.", at: index) }
        var unit: UInt32 = 0
        for byte in bytes[(index + 2)..<(index + 6)] {
            guard let digit = Hexadecimal.digit(byte) else {
                throw fault("An escape needs four hex digits.", at: index)
            }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// Bounds the cost of the conversion. RFC 8259, section 9, allows such limits.
    private static let longestNumber = 1024

    mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if take(UInt8(ascii: "0")) {
            if let next, ASCII.isDigit(next) { throw fault("A number must not have a leading zero.") }
        } else {
            try digits()
        }
        let hasFraction = take(UInt8(ascii: "."))
        if hasFraction { try digits() }
        let hasExponent = take(UInt8(ascii: "e")) || take(UInt8(ascii: "E"))
        if hasExponent {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        guard position - start <= Self.longestNumber else {
            throw fault("The number is longer than \(Self.longestNumber) bytes.", at: start)
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if !hasFraction, !hasExponent, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else { throw fault("The number is too large.", at: start) }
        return .number(number)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while position < bytes.count, ASCII.isDigit(bytes[position]) { position += 1 }
        guard position > start else { throw fault("Expected a digit.") }
    }
}
