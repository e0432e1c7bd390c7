package enum ASCII {
    package static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    package static func isLetter(_ byte: UInt8) -> Bool {
        // Upper and lower case differ in one bit.
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    package static func isWord(_ byte: UInt8, or marks: String) -> Bool {
        isLetter(byte) || isDigit(byte) || marks.utf8.contains(byte)
    }

    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}
