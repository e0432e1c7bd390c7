import RegistryCore

/// RFC 3986. A plus is not a space.
enum PercentEncoding {
    /// Decodes once. Nil for bad escapes and invalid UTF-8.
    static func decode(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var text = text
        return text.withUTF8(decode)
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "%") else {
                decoded.append(text[index])
                index += 1
                continue
            }
            guard index + 2 < text.count, let high = Hexadecimal.digit(text[index + 1]),
                let low = Hexadecimal.digit(text[index + 2])
            else { return nil }
            decoded.append(high << 4 | low)
            index += 3
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
