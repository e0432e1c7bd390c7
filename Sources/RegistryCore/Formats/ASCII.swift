/// The classes of ASCII characters that formats are made of.
package enum ASCII {
    /// Whether a byte is one of `0` to `9`.
    package static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// Whether a byte is one of `A` to `Z` and `a` to `z`.
    package static func isLetter(_ byte: UInt8) -> Bool {
        // Upper and lower case differ in one bit.
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    /// Whether a byte is a space, a tab or a carriage return: what may stand on a line that says nothing.
    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}
