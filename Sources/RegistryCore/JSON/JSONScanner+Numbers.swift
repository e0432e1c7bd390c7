extension JSONScanner {
    /// Bounds the cost of the conversion. RFC 8259, section 9, allows such limits.
    private static let longestNumber = 1024

    mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        try integerDigits()
        let hasFraction = try fraction()
        let hasExponent = try exponent()
        guard position - start <= Self.longestNumber else {
            throw fault("The number is longer than \(Self.longestNumber) bytes.", at: start)
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if !hasFraction, !hasExponent, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else {
            throw fault("The number is too large.", at: start)
        }
        return .number(number)
    }

    private mutating func integerDigits() throws(JSONSyntaxError) {
        guard take(UInt8(ascii: "0")) else { return try digits() }
        if let next, ASCII.isDigit(next) { throw fault("A number must not have a leading zero.") }
    }

    private mutating func fraction() throws(JSONSyntaxError) -> Bool {
        guard take(UInt8(ascii: ".")) else { return false }
        try digits()
        return true
    }

    private mutating func exponent() throws(JSONSyntaxError) -> Bool {
        guard take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) else { return false }
        _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
        try digits()
        return true
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while position < bytes.count, ASCII.isDigit(bytes[position]) { position += 1 }
        guard position > start else { throw fault("Expected a digit.") }
    }
}
