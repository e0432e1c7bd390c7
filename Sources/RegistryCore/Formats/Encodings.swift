import Foundation

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

package enum Hexadecimal {
    /// Nil for an odd number of digits.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { digits in
            guard digits.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(digits.count / 2)
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let high = digit(digits[index]), let low = digit(digits[index + 1]) else { return nil }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
    }

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package static func append(_ bytes: some Collection<UInt8>, to text: inout [UInt8]) {
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { append($0, to: &text) }
        if isContiguous == nil { Array(bytes).withUnsafeBufferPointer { append($0, to: &text) } }
    }

    private static func append(_ bytes: UnsafeBufferPointer<UInt8>, to text: inout [UInt8]) {
        text.reserveRoom(for: bytes.count * 2)
        text.append(addingCapacity: bytes.count * 2) { text in
            // Tokens are half of a fan-out's output. Without bounds checks this loop takes a third of the time.
            text.withUnsafeMutableBufferPointer { text, count in
                for byte in bytes {
                    text[count] = lowerCaseDigit(byte >> 4)
                    text[count + 1] = lowerCaseDigit(byte & 0x0F)
                    count += 2
                }
            }
        }
    }

    package static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func lowerCaseDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension [UInt8] {
    /// Keeps geometric growth, which `reserveCapacity` alone does not.
    mutating func reserveRoom(for more: Int) {
        guard capacity - count < more else { return }
        reserveCapacity(Swift.max(count + more, capacity * 2))
    }
}

/// Unpadded base64url (RFC 7515).
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Nil unless `encode` produces exactly this text.
    package static func decode(_ text: some StringProtocol) -> Data? {
        let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padded = base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: padded), encode(Array(bytes)) == text else { return nil }
        return bytes
    }
}
