import RegistryCore

/// Percent-encoding as RFC 3986 has it: `%` and two hex digits are a byte, and `+` is a plus.
enum PercentEncoding {
    /// Decodes once; nil for a bad escape, and for bytes that are not UTF-8.
    static func decode(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
            guard let escaped = Hexadecimal.decode([high, low]) else { return nil }
            decoded += escaped
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
