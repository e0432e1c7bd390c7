struct DigitReader {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func number(of width: Int) -> Int? {
        var value = 0
        for _ in 0..<width {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Reads a fraction of a second of 1 to 9 digits, in nanoseconds.
    mutating func fraction() -> Int? {
        guard var value = digit() else { return nil }
        var width = 1
        while let digit = digit() {
            value = value * 10 + digit
            width += 1
            guard width <= 9 else { return nil }
        }
        for _ in width..<9 { value *= 10 }
        return value
    }

    private mutating func digit() -> Int? {
        guard position < bytes.count, ASCII.isDigit(bytes[position]) else { return nil }
        position += 1
        return Int(bytes[position - 1] - UInt8(ascii: "0"))
    }
}

extension OutputSpan<UInt8> {
    /// Appends the last `width` digits of a number from 0 to 4,294,967,295, with leading zeros.
    @inline(__always)
    mutating func append(decimal number: Int, width: Int) {
        var divisor: UInt32 = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(UInt32(number) / divisor % 10))
            divisor /= 10
        }
    }

    @inline(__always)
    mutating func append(_ separator: UInt8, decimal number: Int, width: Int = 2) {
        append(separator)
        append(decimal: number, width: width)
    }
}
