import Foundation

/// Writes JSON without spaces into a buffer. Commas and colons are automatic.
///
/// ```swift
/// var json = JSONWriter()
/// json.object { json in
///     json.member("activityId", "a-1")
///     json.key("token")
///     json.hex(token)
/// }
/// ```
/// The text is well-formed if one value follows each key and each begin has an end.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false
    package init(reservingCapacity capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        members(&self)
        close(UInt8(ascii: "}"))
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        elements(&self)
        close(UInt8(ascii: "]"))
    }

    package mutating func key(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Ends a line of NDJSON. Call it only between complete values.
    package mutating func newline() {
        bytes.append(0x0A)
        needsComma = false
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    package mutating func string(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { text in
            guard text.contains(where: Self.needsEscape) else { return bytes.append(inQuotes: text) }
            bytes.append(UInt8(ascii: "\""))
            var start = 0
            for (index, byte) in text.enumerated() where Self.needsEscape(byte) {
                bytes.append(contentsOf: text.extracting(start..<index))
                bytes.append(UInt8(ascii: "\\"))
                appendEscape(of: byte)
                start = index + 1
            }
            bytes.append(contentsOf: text.extracting(start..<text.count))
            bytes.append(UInt8(ascii: "\""))
        }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            bytes.append(contentsOf: "u00".utf8)
            Hexadecimal.append(CollectionOfOne(byte), to: &bytes)
        default: bytes.append(byte)
        }
    }

    package mutating func integer(_ value: some FixedWidthInteger) {
        separate()
        bytes.append(contentsOf: String(value).utf8)
    }

    package mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }
    package mutating func null() { literal("null") }

    /// Writes the shortest text that reads back as the same number, `-0` as `0.0`, and `null` for NaN and infinity.
    package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        bytes.append(contentsOf: (value == 0 ? 0 : value).description.utf8)
    }

    package mutating func hex(_ value: some Collection<UInt8>) { quoted { Hexadecimal.append(value, to: &$0) } }

    /// Writes JSON text unchanged. It must be one complete value.
    package mutating func raw(_ json: some Collection<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func literal(_ word: StaticString) {
        separate()
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    /// Writes a text that needs no escapes.
    mutating func quoted(_ append: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func value(_ value: some JSONEncodable) { value.encode(to: &self) }

    package mutating func member(_ name: String, _ value: some JSONEncodable) {
        key(name)
        value.encode(to: &self)
    }

    package mutating func member(_ name: String, ifPresent value: (some JSONEncodable)?) {
        if let value { member(name, value) }
    }

    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    package mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
        key(name)
        array(elements)
    }

    package mutating func hex(_ name: String, _ value: some Collection<UInt8>) {
        key(name)
        hex(value)
    }

    package mutating func hex(_ name: String, ifPresent value: (some Collection<UInt8>)?) {
        if let value { hex(name, value) }
    }

    package mutating func raw(_ name: String, ifPresent json: [UInt8]?) {
        guard let json else { return }
        key(name)
        raw(json)
    }
}

extension [UInt8] {
    /// Appends without escapes. Reserves room once, because three reservations would dominate the cost of short keys
    /// and ids.
    fileprivate mutating func append(inQuotes text: UnsafeBufferPointer<UInt8>) {
        reserveRoom(for: text.count + 2)
        append(addingCapacity: text.count + 2) { span in
            span.withUnsafeMutableBufferPointer { bytes, count in
                bytes[0] = UInt8(ascii: "\"")
                let end = bytes[1...].update(fromContentsOf: text)
                bytes[end] = UInt8(ascii: "\"")
                count = end + 1
            }
        }
    }
}

package protocol JSONEncodable {
    func encode(to json: inout JSONWriter)
}

extension JSONEncodable {
    package var jsonBytes: [UInt8] {
        var json = JSONWriter()
        encode(to: &json)
        return json.bytes
    }
}

package protocol JSONObjectEncodable: JSONEncodable {
    func writeMembers(to json: inout JSONWriter)
}

extension JSONObjectEncodable {
    package func encode(to json: inout JSONWriter) { json.object(writeMembers) }
}

extension String: JSONEncodable { package func encode(to json: inout JSONWriter) { json.string(self) } }

extension Bool: JSONEncodable { package func encode(to json: inout JSONWriter) { json.bool(self) } }

extension Int: JSONEncodable { package func encode(to json: inout JSONWriter) { json.integer(self) } }

extension Int64: JSONEncodable { package func encode(to json: inout JSONWriter) { json.integer(self) } }

extension Double: JSONEncodable { package func encode(to json: inout JSONWriter) { json.double(self) } }

extension Date: JSONEncodable {
    /// RFC 3339 in UTC, rounded down to the millisecond.
    package func encode(to json: inout JSONWriter) { json.quoted { RFC3339.append(self, to: &$0) } }
}

extension Duration: JSONEncodable {
    package func encode(to json: inout JSONWriter) { json.string(ISO8601Duration.format(self)) }
}

extension Array: JSONEncodable where Element: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.array { json in
            for element in self { element.encode(to: &json) }
        }
    }
}

extension Optional: JSONEncodable where Wrapped: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        guard let self else { return json.null() }
        self.encode(to: &json)
    }
}
